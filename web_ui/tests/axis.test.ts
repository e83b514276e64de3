import { describe, expect, it } from "vitest";

import { axisOf } from "../src/rounds/axis";

const free = { low: false, high: false };

describe("axisOf", () => {
  it("moves free ends outwards to round ticks", () => {
    expect(axisOf(0, 0.247, free)).toEqual({ domain: [0, 0.3], ticks: [0, 0.1, 0.2, 0.3] });
    expect(axisOf(0, 1.13, free)).toEqual({ domain: [0, 1.5], ticks: [0, 0.5, 1, 1.5] });
  });

  it("holds fixed ends and still ticks at round values", () => {
    expect(axisOf(-0.35, 1, { low: false, high: true })).toEqual({
      domain: [-0.5, 1],
      ticks: [-0.5, 0, 0.5, 1],
    });
    expect(axisOf(0, 1, { low: true, high: true }, 4)).toEqual({ domain: [0, 1], ticks: [0, 0.5, 1] });
  });

  it("makes room around a single value and around zero", () => {
    expect(axisOf(0, 0, free).domain[1]).toBeGreaterThan(0);
    const { domain } = axisOf(3, 3, free);
    expect(domain[0]).toBeLessThanOrEqual(3);
    expect(domain[1]).toBeGreaterThanOrEqual(3);
  });

  it("always contains what it was given, whatever its size", () => {
    for (const [low, high] of [
      [-3, 17],
      [1e-6, 5e-6],
      [-2e5, -1e3],
      [0.999, 1.001],
    ] as const) {
      const { domain, ticks } = axisOf(low, high, free);
      expect(domain[0]).toBeLessThanOrEqual(low);
      expect(domain[1]).toBeGreaterThanOrEqual(high);
      expect(ticks.length).toBeGreaterThanOrEqual(2);
      expect(ticks.length).toBeLessThanOrEqual(6);
    }
  });
});
