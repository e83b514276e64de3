/** What the evaluations page keeps in its address: the two policies that are compared. */

export interface Compared {
  old?: string | undefined;
  new?: string | undefined;
}

export function readCompared(search: Record<string, unknown>): Compared {
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const [before, after] = [text(search.old), text(search.new)];
  return { ...(before ? { old: before } : {}), ...(after ? { new: after } : {}) };
}
