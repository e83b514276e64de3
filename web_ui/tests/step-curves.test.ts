import { describe, expect, it } from "vitest";

import { extent, pathOf, stepAt } from "../src/replay/curves";

const size = { width: 100, height: 10 };

describe("curves over steps", () => {
  it("know how far they reach", () => {
    expect(extent([[1, null, -2], [3]])).toEqual([-2, 3]);
    expect(extent([[null]])).toBeNull();
    expect(extent([[0, 0]])).toEqual([0, 1]);
    expect(extent([[2]])).toEqual([0, 2]);
  });

  it("are broken where nothing is known", () => {
    expect(pathOf([0, 1, null, 1, 0], size, [0, 1]).line).toBe("M0.0 10.0L25.0 0.0M75.0 0.0L100.0 10.0");
    expect(pathOf([null, 1, null], size, [0, 1]).dots).toBe("M50.0 0.0h0.01");
    expect(pathOf([], size, [0, 1])).toEqual({ line: "", dots: "" });
  });

  it("keep every spike of a long episode with few points", () => {
    const values = Array.from({ length: 10_000 }, (_, at) => (at === 4321 ? 9 : at === 777 ? -9 : 0));
    const { line: path } = pathOf(values, size, [-9, 9]);
    expect(path.split(/[ML]/).length).toBeLessThan(3 * size.width);
    expect(path).toContain(" 0.0");
    expect(path).toContain(" 10.0");
  });

  it("lead to the step under the pointer", () => {
    expect([stepAt(0, 100, 11), stepAt(49, 100, 11), stepAt(500, 100, 11), stepAt(3, 100, 1)]).toEqual([
      0, 5, 10, 0,
    ]);
  });
});
