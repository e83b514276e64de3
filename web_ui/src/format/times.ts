/** Times as an operator reads them. Everything over HTTP is Unix seconds. */

import { NOTHING } from "./numbers";

/** A span in seconds: "0.4 s", "42 s", "3 min 05 s", "2 h 07 min". */
export function span(seconds: number | null | undefined): string {
  if (seconds == null || !Number.isFinite(seconds)) return NOTHING;
  if (seconds < 10) return `${Math.max(seconds, 0).toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${pad(Math.floor((whole % 3600) / 60))} min`;
}

/** Milliseconds: "7 ms", "1.24 s". */
export function milliseconds(value: number): string {
  return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`;
}

/** How long ago: "now", "12 s ago", "3 min ago", "5 h ago", then the day, of another year with that. */
export function ago(atS: number, nowS: number): string {
  const passed = nowS - atS;
  if (passed < 5) return "now";
  if (passed < 60) return `${Math.floor(passed)} s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  const at = new Date(atS * 1000);
  const year = at.getFullYear() === new Date(nowS * 1000).getFullYear() ? {} : ({ year: "numeric" } as const);
  return at.toLocaleDateString(undefined, { month: "short", day: "numeric", ...year });
}

/** The moment in full: "2026-03-01 14:03:22". */
export function moment(atS: number): string {
  const at = new Date(atS * 1000);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day} ${clock(atS)}`;
}

/** The moment with the zone of the reader, for what may stand beside another zone's: "2026-03-01 14:03:22 GMT+1". */
export function zoned(atS: number): string {
  const parts = new Intl.DateTimeFormat("en-US", { timeZoneName: "shortOffset" }).formatToParts(atS * 1000);
  return `${moment(atS)} ${parts.find((part) => part.type === "timeZoneName")?.value ?? ""}`;
}

/** Time of day: "14:03:22". */
export function clock(atS: number): string {
  const at = new Date(atS * 1000);
  return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** A log with the UTC stamps at the beginning of its lines, `[2026-11-25T01:14:25Z]`, as moments where the reader is. */
export function logHere(text: string): string {
  return text.replace(/^\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)\]/gm, (stamp, at: string) => {
    const atS = Date.parse(at) / 1000;
    return Number.isNaN(atS) ? stamp : `[${moment(atS)}]`;
  });
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

/** Unix seconds at which a day begins where the reader is; `after` days later. */
export function startOfDay(day: string, after = 0): number {
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year ?? 0, (month ?? 1) - 1, (date ?? 1) + after).getTime() / 1000;
}
