/** What a phase's run wrote, from near its end on; new lines come by themselves while it runs. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { answer, api } from "../api/client";
import { logHere } from "../format/times";
import { Failed, Trouble } from "../parts/Notice";
import { follow, UNREAD, type Log } from "./following";

export function PhaseLog({ roundId, phase }: { roundId: number; phase: string }) {
  const [read, setRead] = useState<Log>(UNREAD);
  const [attempt, setAttempt] = useState(0);
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const path = { id: roundId, name: phase };
    return follow((next, signal) => {
      const params = { path, query: next === null ? {} : { offset: next } };
      return answer(api.GET("/v1/rounds/{id}/phases/{name}/log", { params, signal }));
    }, setRead);
  }, [roundId, phase, attempt]);
  const shown = useMemo(() => logHere(read.text), [read.text]);
  useLayoutEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown]);
  if (read.error !== null && read.next === null) {
    const again = () => {
      setRead(UNREAD);
      setAttempt(attempt + 1);
    };
    return <Failed error={read.error} again={again} />;
  }
  if (read.next === null) return <p className="px-3 py-4 text-muted">Reading the log…</p>;
  const nothing = read.over ? "Its run wrote nothing." : "Nothing written yet.";
  return (
    <>
      {read.error === null ? null : (
        <div className="px-3 pt-3">
          <Trouble error={read.error} />
        </div>
      )}
      {read.text === "" ? (
        <p className="px-3 py-4 text-muted">{nothing}</p>
      ) : (
        <pre
          ref={box}
          tabIndex={0}
          role="log"
          aria-label={`Log of ${phase}`}
          className="max-h-80 overflow-auto p-3 font-mono text-xs whitespace-pre-wrap"
          onScroll={(event) => {
            const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
            atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
          }}
        >
          {shown}
        </pre>
      )}
    </>
  );
}
