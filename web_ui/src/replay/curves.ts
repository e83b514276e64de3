/** A line over all steps, drawn with no more points than there are pixels. Pure. */

/** Lowest and highest of all that is there; null without any. */
export function extent(lines: readonly (readonly (number | null)[])[]): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const line of lines)
    for (const value of line)
      if (value !== null) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
  if (low > high) return null;
  return low === high ? [Math.min(low, 0), Math.max(high, 0) || low + 1] : [low, high];
}

/**
 * SVG paths through the values: the line, broken where there is none, and the points that stand alone.
 *
 * Of several steps on one pixel the lowest and the highest are kept: no spike is lost, however long the episode.
 */
export function pathOf(
  values: readonly (number | null)[],
  size: { width: number; height: number },
  [low, high]: readonly [number, number],
): { line: string; dots: string } {
  const count = values.length;
  const x = (at: number) => (count < 2 ? size.width / 2 : (at / (count - 1)) * size.width);
  const y = (value: number) => size.height - ((value - low) / (high - low || 1)) * size.height;
  const parts: string[] = [];
  const dots: string[] = [];
  let pen = false;
  for (let from = 0; from < count; ) {
    const column = Math.floor(x(from));
    let to = from + 1;
    while (to < count && Math.floor(x(to)) === column) to += 1;
    for (const at of notable(values, from, to)) {
      const value = values[at];
      if (value === null || value === undefined) {
        pen = false;
        continue;
      }
      parts.push(`${pen ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`);
      // as long as nothing, it is drawn as the round end of its line
      if ((values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null)
        dots.push(`M${x(at).toFixed(1)} ${y(value).toFixed(1)}h0.01`);
      pen = true;
    }
    from = to;
  }
  return { line: parts.join(""), dots: dots.join("") };
}

function notable(values: readonly (number | null)[], from: number, to: number): number[] {
  if (to - from <= 2) return Array.from({ length: to - from }, (_, at) => from + at);
  let [least, most] = [-1, -1];
  for (let at = from; at < to; at += 1) {
    const value = values[at];
    if (value === null || value === undefined) continue;
    if (least < 0 || value < (values[least] ?? Infinity)) least = at;
    if (most < 0 || value > (values[most] ?? -Infinity)) most = at;
  }
  if (least < 0) return [from];
  return least === most ? [least] : [Math.min(least, most), Math.max(least, most)];
}

/** The step under a place across the curves. */
export function stepAt(x: number, width: number, count: number): number {
  return Math.min(Math.max(Math.round((x / Math.max(width, 1)) * (count - 1)), 0), Math.max(count - 1, 0));
}
