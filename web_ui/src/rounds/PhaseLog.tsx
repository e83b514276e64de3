/** What a phase's run wrote, from near its end on; new lines come by themselves while it runs. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { answer, api } from "../api/client";
import { logHere } from "../format/times";
import { Failed } from "../parts/Notice";

const LOOK_MS = 1500;
/** Characters kept in the page; older ones are dropped from the top. */
const KEPT = 200_000;

interface Read {
  text: string;
  next: number | null;
  over: boolean;
  error: unknown;
}

const UNREAD: Read = { text: "", next: null, over: false, error: null };

export function PhaseLog({ roundId, phase }: { roundId: number; phase: string }) {
  const [read, setRead] = useState<Read>(UNREAD);
  const [attempt, setAttempt] = useState(0);
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const control = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (next: number | null) => {
      try {
        const query = next === null ? {} : { offset: next };
        const params = { path: { id: roundId, name: phase }, query };
        const piece = await answer(
          api.GET("/v1/rounds/{id}/phases/{name}/log", { params, signal: control.signal }),
        );
        if (control.signal.aborted) return;
        setRead((now) => ({
          text: (now.text + piece.text).slice(-KEPT),
          next: piece.next_offset,
          over: piece.over,
          error: null,
        }));
        const more = piece.next_offset < piece.size && piece.next_offset > (next ?? -1);
        if (!piece.over) timer = setTimeout(() => void look(piece.next_offset), more ? 0 : LOOK_MS);
      } catch (error) {
        if (!control.signal.aborted) setRead((now) => ({ ...now, error }));
      }
    };
    void look(null);
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [roundId, phase, attempt]);
  const shown = useMemo(() => logHere(read.text), [read.text]);
  useLayoutEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown]);
  if (read.error !== null) {
    const again = () => {
      setRead(UNREAD);
      setAttempt(attempt + 1);
    };
    return <Failed error={read.error} again={again} />;
  }
  if (read.next === null) return <p className="px-3 py-4 text-muted">Reading the log…</p>;
  if (read.text === "") {
    return (
      <p className="px-3 py-4 text-muted">{read.over ? "Its run wrote nothing." : "Nothing written yet."}</p>
    );
  }
  return (
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
  );
}
