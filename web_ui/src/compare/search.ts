/** Which two episodes, and where in them: as it stands in the address. */

export interface CompareSearch {
  /** Ids; empty where none is named. */
  one: string;
  other: string;
  /** Undefined: where the two part. */
  row?: number | undefined;
}

export function readCompare(search: Record<string, unknown>): CompareSearch {
  const { row } = search;
  const found = { one: id(search.one), other: id(search.other) };
  return typeof row === "number" && Number.isSafeInteger(row) && row >= 0 ? { ...found, row } : found;
}

function id(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
