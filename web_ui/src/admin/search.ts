/** What the admin page keeps in its address: which part is open. */

export const PARTS = ["users", "tokens", "quotas", "audit", "settings"] as const;
export type Part = (typeof PARTS)[number];

export interface AdminSearch {
  part?: Part | undefined;
}

export function readAdmin(search: Record<string, unknown>): AdminSearch {
  const part = PARTS.find((known) => known === search.part);
  return part ? { part } : {};
}
