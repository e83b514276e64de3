/** Why an episode ended, in words. */

import type { TrajectorySummary } from "../api/words";

type Reason = NonNullable<TrajectorySummary["stop_reason"]>;

const WORDS: Record<Reason, string> = {
  terminated: "the task ended",
  finished: "said it is done",
  gave_up: "gave up",
  void_limit: "no readable action",
  turn_limit: "out of turns",
  time_limit: "out of time",
  doomed: "hopeless",
  cancelled: "cancelled",
  infrastructure: "something broke",
};

export function stopped(reason: Reason): string {
  return WORDS[reason];
}
