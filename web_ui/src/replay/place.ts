/** Where in a replay one is: a step by its index, or the end. It stands in the address as `?step=`. */

/** `undefined` in the address means the beginning. */
export interface PlaceSearch {
  step?: number | "end" | undefined;
}

export function readPlace(search: Record<string, unknown>): PlaceSearch {
  const { step } = search;
  if (step === "end") return { step };
  const index =
    typeof step === "number" ? step : typeof step === "string" && step !== "" ? Number(step) : NaN;
  return Number.isInteger(index) && index >= 0 ? { step: index } : {};
}

/** Stop on the strip, 0 to `steps` inclusive: the last is the screen after the last action. */
export function stopOf(search: PlaceSearch, steps: number): number {
  if (search.step === "end") return steps;
  return Math.min(search.step ?? 0, Math.max(steps - 1, 0));
}

/** What the address says for a stop. */
export function placeOf(stop: number, steps: number): PlaceSearch {
  return { step: stop >= steps && steps > 0 ? "end" : stop };
}

export type Move = "next" | "previous" | "first" | "last" | "play";

const KEYS = new Map<string, Move>([
  ["ArrowRight", "next"],
  ["ArrowLeft", "previous"],
  ["Home", "first"],
  ["End", "last"],
  [" ", "play"],
]);

/** What a key does in a replay; undefined when it is not the replay's. */
export function moveOf(key: string): Move | undefined {
  return KEYS.get(key);
}

/** The stop after a move among `stops` of them; it never leaves the strip. */
export function moved(stop: number, move: Exclude<Move, "play">, stops: number): number {
  const last = Math.max(stops - 1, 0);
  const to = { next: stop + 1, previous: stop - 1, first: 0, last }[move];
  return Math.min(Math.max(to, 0), last);
}
