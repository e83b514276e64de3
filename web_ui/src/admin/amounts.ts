/** Amounts of quotas, as they are shown and typed. */

import { count } from "../format/numbers";

export const KINDS = ["tasks", "sandboxes", "bytes"] as const;
export type Kind = (typeof KINDS)[number];

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** Bytes in the largest unit that leaves a whole number in front: 50000000000 → "50 GB", 1500 → "1.5 kB". */
export function bytes(size: number): string {
  let unit = 0;
  while (size >= 1000 && unit < UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${Number(size.toPrecision(4))} ${UNITS[unit] ?? ""}`;
}

/** "3 of 20,000", "1.2 MB of 50 GB", "3" where there is no limit. */
export function share(kind: Kind, used: number, limit: number | null): string {
  const shown = kind === "bytes" ? bytes : count;
  return limit === null ? shown(used) : `${shown(used)} of ${shown(limit)}`;
}

/** A limit as a form shows it: what `readLimit` makes of it is that limit to the byte. */
export function typedLimit(kind: Kind, limit: number | null): string {
  if (limit === null) return "";
  const short = bytes(limit);
  return kind === "bytes" && readLimit(short) === limit ? short : String(limit);
}

/** A limit as typed: null when empty, undefined when it is none. */
export function readLimit(text: string): number | null | undefined {
  const typed = text.trim().replaceAll(",", "");
  if (typed === "") return null;
  const found = /^(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|TB)?$/i.exec(typed);
  if (!found) return undefined;
  const power = UNITS.findIndex((unit) => unit.toLowerCase() === (found[2] ?? "B").toLowerCase());
  const size = Number(found[1]) * 1000 ** power;
  return Number.isInteger(size) || power > 0 ? Math.round(size) : undefined;
}
