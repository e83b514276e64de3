/**
 * Two episodes of one task, step beside step. Pure.
 *
 * As long as both see and do the same they go together. Behind the first difference, steps on the same screen are
 * laid side by side wherever both come to it in the same order (the longest common subsequence of their screens).
 */

import { count } from "../format/numbers";
import type { Step } from "../api/words";

/** What of a step has to be the same. */
export interface Seen {
  screen: string;
  did: string;
}

export interface Row {
  /** Index of the step in the first episode; null where only the other has one. */
  one: number | null;
  other: number | null;
  /** What the two have in common. */
  same: "all" | "screen" | "nothing";
}

/** More cells than this are not laid out by their screens, but by their numbers. */
const MOST_CELLS = 4_000_000;

export function seenOf(step: Step): Seen {
  return { screen: step.image.digest, did: step.actions.map((action) => action.text).join("\n") };
}

export function align(one: readonly Seen[], other: readonly Seen[]): Row[] {
  const rows: Row[] = [];
  let [i, j] = [0, 0];
  while (i < one.length && j < other.length && common(one[i], other[j]) === "all")
    rows.push({ one: i++, other: j++, same: "all" });
  // where the two part on one screen, that is the pair to look at, whatever comes later
  if (common(one[i], other[j]) === "screen") rows.push({ one: i++, other: j++, same: "screen" });
  for (const [a, b] of pairs(one.slice(i), other.slice(j))) {
    const pair = { one: a === null ? null : a + i, other: b === null ? null : b + j };
    rows.push({ ...pair, same: common(one[pair.one ?? -1], other[pair.other ?? -1]) });
  }
  return rows;
}

/** Of longer episodes the first so many steps are compared. */
export const MOST_STEPS = 2000;

/** Said of an episode that is longer; null where all of it is compared. */
export function cutOf(turns: number): string | null {
  return turns > MOST_STEPS ? `The first ${count(MOST_STEPS)} of ${count(turns)} steps are compared.` : null;
}

/** The first row where the two do not see and do the same; null where they always do. */
export function divergence(rows: readonly Row[]): number | null {
  const at = rows.findIndex((row) => row.same !== "all");
  return at < 0 ? null : at;
}

function common(one: Seen | undefined, other: Seen | undefined): Row["same"] {
  if (one === undefined || other === undefined || one.screen !== other.screen) return "nothing";
  return one.did === other.did ? "all" : "screen";
}

type Pair = readonly [number | null, number | null];

function pairs(one: readonly Seen[], other: readonly Seen[]): Pair[] {
  if (one.length * other.length > MOST_CELLS) return byNumber(one.length, other.length);
  const width = other.length + 1;
  const longest = new Uint16Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      longest[at] =
        one[i]?.screen === other[j]?.screen
          ? (longest[at + width + 1] ?? 0) + 1
          : Math.max(longest[at + width] ?? 0, longest[at + 1] ?? 0);
    }
  }
  const found: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    const at = i * width + j;
    if (i < one.length && j < other.length && one[i]?.screen === other[j]?.screen) found.push([i++, j++]);
    else if (i < one.length && j < other.length && longest[at + width] === longest[at + 1])
      // on neither side is anything lost: two steps that went each its own way stand beside each other
      found.push(longest[at] === longest[at + width + 1] ? [i++, j++] : [i++, null]);
    else if (j >= other.length || (i < one.length && (longest[at + width] ?? 0) > (longest[at + 1] ?? 0)))
      found.push([i++, null]);
    else found.push([null, j++]);
  }
  return found;
}

function byNumber(one: number, other: number): Pair[] {
  return Array.from({ length: Math.max(one, other) }, (_, at) => [
    at < one ? at : null,
    at < other ? at : null,
  ]);
}
