/** The list's filters, as they stand in the address. */

import type { TrajectoryFilter } from "../api/queries";
import type { Failure } from "../api/words";

const OUTCOMES = ["success", "failure", "none"] as const;
export const FAILURES = [
  "sandbox_died",
  "sandbox_timeout",
  "sandbox_lease",
  "sandbox_setup",
  "task_refused",
  "model_timeout",
  "model_error",
  "verifier",
] as const satisfies readonly Failure[];
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Reads filters from an address; what is not understood is left out. */
export function readFilter(search: Record<string, unknown>): TrajectoryFilter {
  const outcome = OUTCOMES.find((known) => known === search.outcome);
  return dropEmpty({
    task: text(search.task),
    policy: text(search.policy),
    purpose: text(search.purpose),
    round: text(search.round),
    outcome,
    text: text(search.text),
    failure: FAILURES.find((known) => known === search.failure),
    min_score: number(search.min_score),
    max_score: number(search.max_score),
    min_turns: count(search.min_turns),
    max_turns: count(search.max_turns),
    since: day(search.since),
    until: day(search.until),
  });
}

/** Filters that are set, without the empty ones: the address stays short and equal filters are equal keys. */
export function dropEmpty(filter: TrajectoryFilter): TrajectoryFilter {
  return Object.fromEntries(
    Object.entries(filter).filter(([, value]) => value !== undefined && value !== ""),
  );
}

function text(value: unknown): string | undefined {
  // the router reads ?round=3 as a number
  return typeof value === "string" || typeof value === "number" ? String(value).trim() : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function day(value: unknown): string | undefined {
  return typeof value === "string" && DAY.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;
}
