/** Filters kept under a name, in this browser. */

import type { TrajectoryFilter } from "../api/queries";
import { readFilter } from "./filter";

const KEY = "deskhand.trajectory-views";

export interface View {
  name: string;
  filter: TrajectoryFilter;
}

/** What was kept, by name; what cannot be read is left out. */
export function readViews(kept: string | null): View[] {
  let found: unknown;
  try {
    found = JSON.parse(kept ?? "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(found)) return [];
  return found.flatMap((each: unknown) => {
    if (typeof each !== "object" || each === null || !("name" in each) || !("filter" in each)) return [];
    const { name, filter } = each;
    if (typeof name !== "string" || name === "" || typeof filter !== "object" || filter === null) return [];
    return [{ name, filter: readFilter(filter as Record<string, unknown>) }];
  });
}

/** The views with one more, or another in the place of one of the same name. */
export function withView(views: View[], view: View): View[] {
  return [...views.filter((each) => each.name !== view.name), view].sort((one, other) =>
    one.name.localeCompare(other.name),
  );
}

export function loadViews(): View[] {
  return readViews(localStorage.getItem(KEY));
}

export function keepViews(views: View[]): void {
  localStorage.setItem(KEY, JSON.stringify(views));
}

/** Whether two filters choose the same. */
export function same(one: TrajectoryFilter, other: TrajectoryFilter): boolean {
  const [first, second] = [one, other].map((filter) => JSON.stringify(Object.entries(filter).sort()));
  return first === second;
}
