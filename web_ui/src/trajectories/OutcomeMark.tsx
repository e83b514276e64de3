/** How an episode ended, as a sign and a word. */

import type { TrajectorySummary } from "../api/words";
import { stopped } from "./stopped";

export interface Outcome {
  sign: string;
  word: string;
  colour: string;
}

export function outcomeOf(
  trajectory: Pick<TrajectorySummary, "success" | "failure" | "ended_at_s" | "stop_reason">,
): Outcome {
  if (trajectory.failure !== null) return { sign: "!", word: "broken", colour: "text-warn" };
  if (trajectory.success === true) return { sign: "✓", word: "success", colour: "text-good" };
  if (trajectory.success === false) return { sign: "✕", word: "failure", colour: "text-bad" };
  if (trajectory.ended_at_s === null) return { sign: "●", word: "unfinished", colour: "text-accent" };
  return { sign: "⊘", word: trajectory.stop_reason === null ? "no verdict" : stopped(trajectory.stop_reason), colour: "text-muted" };
}

export function OutcomeMark({ trajectory, bare = false }: { trajectory: TrajectorySummary; bare?: boolean }) {
  const { sign, word, colour } = outcomeOf(trajectory);
  return (
    <span className={`inline-flex items-center gap-1.5 font-medium whitespace-nowrap ${colour}`} title={word}>
      <span aria-hidden className="w-3.5 text-center">
        {sign}
      </span>
      <span className={bare ? "sr-only" : ""}>{word}</span>
    </span>
  );
}
