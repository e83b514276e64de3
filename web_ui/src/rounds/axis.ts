/** The vertical axis of a chart: round ticks around what is drawn. Pure. */

export interface Axis {
  domain: [number, number];
  ticks: number[];
}

/**
 * Ends and ticks for values between `low` and `high`, about `count` steps apart.
 *
 * An end that is `fixed` stays where it is; a free one moves outwards to the next tick.
 */
export function axisOf(low: number, high: number, fixed: { low: boolean; high: boolean }, count = 3): Axis {
  const room = high > low ? high - low : Math.abs(high) || 1;
  const step = roundStep(room / count);
  const from = fixed.low ? low : Math.floor(low / step + 1e-9) * step;
  const to = fixed.high ? high : Math.max(Math.ceil(high / step - 1e-9) * step, from + step);
  const ticks: number[] = [];
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to + step * 1e-9; index += 1) {
    ticks.push(clean(index * step));
  }
  return { domain: [clean(from), clean(to)], ticks };
}

/** Without the dust of binary fractions: 0.30000000000000004 → 0.3. */
function clean(value: number): number {
  return Number(value.toPrecision(12));
}

/** 1, 2 or 5 times a power of ten, the next above. */
function roundStep(raw: number): number {
  const power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  return (lead <= 1.0001 ? 1 : lead <= 2.0001 ? 2 : lead <= 5.0001 ? 5 : 10) * power;
}
