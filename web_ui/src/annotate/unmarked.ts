/** Marks that did not reach the platform: who gave one has often gone on to another step by then. Pure. */

/** A mark that was given. */
export interface Given {
  id: string;
  /** The step; null: the whole episode. */
  index: number | null;
  score: number | null;
  why: string;
}

export interface Sent {
  given: Given | undefined;
  /** Why the platform did not take it; null while it is on its way, and when it is there. */
  error: Error | null;
}

export interface Lost {
  given: Given;
  error: Error;
}

/** Of each place the last that was given, where that failed: one sent again makes up for it. */
export function unmarked(sent: readonly Sent[]): Lost[] {
  const last = new Map<string, Sent>();
  for (const one of sent) if (one.given) last.set(placeOf(one.given), one);
  return [...last.values()].flatMap(({ given, error }) => (given && error ? [{ given, error }] : []));
}

export function placeOf({ id, index }: Pick<Given, "id" | "index">): string {
  return `${id} ${index ?? "whole"}`;
}
