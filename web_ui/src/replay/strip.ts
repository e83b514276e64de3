/** The steps as a strip: one cell each, coloured and filled by its process score. Pure. */

import type { Step } from "../api/words";

type Steps = readonly (Step | undefined)[];

export interface Cell {
  index: number;
  /** 0 (harms) to 1 (helps); null when nobody scored the step. */
  score: number | null;
  /** What the critic expected; null when it was not asked. */
  value: number | null;
  reward: number;
  /** What was done, in one sign. */
  sign: string;
  trouble: boolean;
}

/** Everyone who scored a step of the episode, in the order they first appear. */
export function scorersOf(steps: Steps): string[] {
  return [...new Set(steps.flatMap((step) => step?.scores.map((score) => score.scorer) ?? []))];
}

/** One cell per step; null for those not loaded yet. */
export function cellsOf(steps: Steps, scorer: string | null): (Cell | null)[] {
  return steps.map((step) =>
    step === undefined
      ? null
      : {
          index: step.index,
          score: step.scores.find((score) => score.scorer === scorer)?.score ?? null,
          value: step.value,
          reward: step.reward,
          sign: signOf(step),
          trouble: step.error !== null || step.action_error !== null,
        },
  );
}

/** What the loaded cells have: whether any is scored, and the highest value, at least 1; null without values. */
export function scaleOf(cells: readonly (Cell | null)[]): { scored: boolean; top: number | null } {
  const values = cells.flatMap((cell) => cell?.value ?? []);
  return {
    scored: cells.some((cell) => cell !== null && cell.score !== null),
    top: values.length === 0 ? null : Math.max(1, ...values),
  };
}

const SIGNS = new Map(
  Object.entries({
    click: "◎",
    touch: "◎",
    move_pointer: "➤",
    pointer_down: "▾",
    pointer_up: "▴",
    drag: "⤳",
    swipe: "⤳",
    scroll: "⇕",
    type_text: "T",
    press: "⌨",
    key_down: "⌨",
    key_up: "⌨",
    wait: "…",
    navigate: "↗",
    history: "↩",
    tab: "▭",
    open_app: "▣",
    run: "$",
    answer: "“",
    ask_user: "?",
    finish: "■",
    fail: "✕",
  }),
);

/** What a step did, in one sign. */
export function signOf(step: Step): string {
  const first = step.actions[0];
  if (!first) return "∅";
  return (SIGNS.get(first.type) ?? "•") + (step.actions.length > 1 ? "+" : "");
}

/** Width of each of `count` cells, in pixels: an equal share of the room, but no less than its number needs. */
export function cellWidth(room: number, count: number, gap: number): number {
  const share = count === 0 ? 0 : Math.floor((room + gap) / count) - gap;
  const least = 20 + 8 * Math.max(2, String(count).length);
  return Math.min(Math.max(share, least), 80);
}

/** Colour of a score: from harm over neutral to help. Height tells the same, so colour is never alone. */
export function scoreColour(score: number): string {
  const clipped = Math.min(Math.max(score, 0), 1);
  const [end, share] = clipped < 0.5 ? ["--bad", 1 - clipped * 2] : ["--good", clipped * 2 - 1];
  return `color-mix(in oklab, var(${end}) ${Math.round(share * 100)}%, var(--faint))`;
}

/** Where the time of a step went, as shares of the whole; acting is told without its settling. */
export function timeShares(timings: Step["timings"]): { label: string; ms: number; share: number }[] {
  const settle = Math.min(timings.settle_ms, timings.act_ms);
  const parts = [
    { label: "model", ms: timings.model_ms },
    { label: "act", ms: timings.act_ms - settle },
    { label: "settle", ms: settle },
  ];
  const sum = parts.reduce((total, part) => total + part.ms, 0);
  return parts.map((part) => ({ ...part, share: sum > 0 ? part.ms / sum : 0 }));
}
