/** The state of a task, a round or a phase: a shape and a word, never a colour alone. */

import type { WorkState } from "../api/words";

const LOOK: Record<WorkState, { sign: string; colour: string }> = {
  queued: { sign: "○", colour: "text-muted" },
  running: { sign: "●", colour: "text-accent" },
  paused: { sign: "‖", colour: "text-warn" },
  done: { sign: "✓", colour: "text-good" },
  failed: { sign: "✕", colour: "text-bad" },
  cancelled: { sign: "⊘", colour: "text-muted" },
  skipped: { sign: "↷", colour: "text-muted" },
};

export function StateMark({ state, bare = false }: { state: WorkState; bare?: boolean | "on phones" }) {
  const { sign, colour } = LOOK[state];
  return (
    <span
      className={`inline-flex items-center gap-1.5 font-medium whitespace-nowrap ${colour}`}
      title={state}
    >
      <span aria-hidden className={`w-3.5 text-center ${state === "running" ? "pulse" : ""}`}>
        {sign}
      </span>
      <span className={bare === true ? "sr-only" : bare ? "max-sm:sr-only" : ""}>{state}</span>
    </span>
  );
}
