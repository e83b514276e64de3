/** A moment, told as how long ago, with the moment itself on hover. */

import { createContext, use, useEffect, useState, type ReactNode } from "react";

import { NOTHING } from "../format/numbers";
import { ago, span, zoned } from "../format/times";

const NowContext = createContext(0);

/** One clock for the page: everything that tells time ticks together, every five seconds. */
export function Clock({ children }: { children: ReactNode }) {
  const [nowS, setNowS] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNowS(Date.now() / 1000), 5000);
    return () => clearInterval(timer);
  }, []);
  return <NowContext value={nowS}>{children}</NowContext>;
}

export function Ago({ atS }: { atS: number | null }) {
  const nowS = use(NowContext);
  if (atS === null) return <span className="text-faint">{NOTHING}</span>;
  return <time title={zoned(atS)}>{ago(atS, nowS)}</time>;
}

/** From `startS` to `endS`, or until now while it goes on. */
export function Lasted({ startS, endS }: { startS: number | null; endS: number | null }) {
  const nowS = use(NowContext);
  return <>{startS === null ? NOTHING : span((endS ?? Math.max(nowS, startS)) - startS)}</>;
}
