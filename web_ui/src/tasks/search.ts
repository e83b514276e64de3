/** What the tasks page keeps in its address: the task chosen for submission, and which states the queue shows. */

import type { WorkState } from "../api/words";

const STATES: readonly WorkState[] = ["queued", "running", "done", "failed", "cancelled"];

export interface QueueSearch {
  task?: string | undefined;
  state?: WorkState | undefined;
}

export function readQueueSearch(search: Record<string, unknown>): QueueSearch {
  const state = STATES.find((known) => known === search.state);
  return {
    ...(typeof search.task === "string" && search.task !== "" ? { task: search.task } : {}),
    ...(state ? { state } : {}),
  };
}

export { STATES };
