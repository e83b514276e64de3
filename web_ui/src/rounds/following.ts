/** Follows what is written to a log, piece after piece, over questions that fail. */

import { gone } from "../api/polling";

const LOOK_MS = 1500;
/** Characters kept in the page; older ones are dropped from the top. */
const KEPT = 200_000;

export interface Log {
  text: string;
  /** Where the next piece begins; null: nothing was read yet. */
  next: number | null;
  over: boolean;
  /** Why the last question was not answered: what was read until then stays, and it is asked again. */
  error: unknown;
}

export const UNREAD: Log = { text: "", next: null, over: false, error: null };

interface Piece {
  text: string;
  next_offset: number;
  size: number;
  over: boolean;
}

/** Until the log is over, is not there any more, or the function that comes back is called. */
export function follow(
  ask: (offset: number | null, signal: AbortSignal) => Promise<Piece>,
  tell: (log: Log) => void,
): () => void {
  const control = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let log = UNREAD;
  const look = async () => {
    let pause: number | null = LOOK_MS;
    try {
      const piece = await ask(log.next, control.signal);
      if (piece.over) pause = null;
      else if (piece.next_offset < piece.size && piece.next_offset > (log.next ?? -1)) pause = 0;
      log = { text: (log.text + piece.text).slice(-KEPT), next: piece.next_offset, over: piece.over, error: null };
    } catch (error) {
      if (gone(error)) pause = null;
      log = { ...log, error };
    }
    if (control.signal.aborted) return;
    tell(log);
    if (pause !== null) timer = setTimeout(() => void look(), pause);
  };
  void look();
  return () => {
    control.abort();
    clearTimeout(timer);
  };
}
