/** Numbers as an operator reads them: short, aligned, never more digits than mean something. */

export const NOTHING = "–";
/** Less is what rounding left of a zero. */
const NOISE = 1e-12;

/** A share of 1 as percent, never broken across lines: .912 → "91.2 %". */
export function percent(share: number | null | undefined, digits = 1): string {
  return share == null || !Number.isFinite(share) ? NOTHING : `${(share * 100).toFixed(digits)}\u00a0%`;
}

/** An interval of shares: "88.1–93.9". */
export function interval(low: number, high: number, digits = 1): string {
  return `${(low * 100).toFixed(digits)}–${(high * 100).toFixed(digits)}`;
}

/** A plain figure with four meaning digits: 0.01234 → "0.0123", 1234.5 → "1,235". */
export function figure(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  if (size < NOISE) return "0";
  if (size >= 1000) return count(value);
  if (size < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

/** A figure for the narrow edge of a chart, no wider than it must be: -10000 → "-10K", 0.0005 → "5e-4". */
export function mark(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential();
  if (Math.abs(value) < 1000) return figure(value);
  return value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 });
}

/** A whole number with separators: 12345 → "12,345". */
export function count(value: number | null | undefined): string {
  return value == null ? NOTHING : Math.round(value).toLocaleString("en-US");
}

/** So many of something, with its plural: "1 step", "1,204 steps". */
export function counted(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? "" : "s"}`;
}

/** A reward with its sign, so that zero, gain and loss differ at a glance: "+1", "0", "−0.5". */
export function signed(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NOTHING;
  if (value === 0) return "0";
  return `${value > 0 ? "+" : "−"}${figure(Math.abs(value))}`;
}
