/** The list's filters, as they stand in the address. */

import type { TrajectoryFilter } from "../api/queries";

const OUTCOMES = ["success", "failure", "none"] as const;

/** Reads filters from an address; what is not understood is left out. */
export function readFilter(search: Record<string, unknown>): TrajectoryFilter {
  const outcome = OUTCOMES.find((known) => known === search.outcome);
  return dropEmpty({
    task: text(search.task),
    policy: text(search.policy),
    purpose: text(search.purpose),
    round: text(search.round),
    outcome,
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
