/** Which tasks are measured together. Pure. */

import type { Suite } from "../api/words";

/** What the server takes as a name. */
export const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** What is wrong with a name for a suite; null when nothing is. */
export function badName(name: string, suites: readonly Suite[]): string | null {
  if (!NAME.test(name)) return "Small letters, digits, dots, dashes and underscores, 64 at most.";
  const taken = suites.find((one) => one.name === name);
  return taken && !taken.own ? "Deskhand comes with a suite of this name; choose another." : null;
}

/** The suite that has just these tasks, in whatever order; null where none has. */
export function suiteWith(tasks: readonly string[], suites: readonly Suite[]): Suite | null {
  const wanted = [...new Set(tasks)].sort().join("\n");
  return suites.find((one) => [...new Set(one.tasks)].sort().join("\n") === wanted) ?? null;
}

/** The tasks chosen, with what still stands in the field. */
export function gathered(chosen: readonly string[], draft: string): string[] {
  const told = draft.trim();
  return told === "" || chosen.includes(told) ? [...chosen] : [...chosen, told];
}
