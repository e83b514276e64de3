/** Which proposal a reader has before them: it stays, over or not, until they answer it or go on. Pure. */

import type { Proposal } from "../api/words";

export interface Shown {
  proposal: Proposal;
  /** Answered here: once the list has let go of it, the next takes its place. */
  answered: boolean;
}

/** What is shown after the list was had anew. */
export function shownAfter(before: Shown | null, waiting: readonly Proposal[]): Shown | null {
  const first = waiting[0];
  if (before !== null) {
    const now = waiting.find((each) => each.id === before.proposal.id);
    if (now !== undefined) return now === before.proposal ? before : { ...before, proposal: now };
    if (!before.answered) return before;
  }
  return first === undefined ? null : { proposal: first, answered: false };
}
