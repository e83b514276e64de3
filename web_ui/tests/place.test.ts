import { describe, expect, it } from "vitest";

import { moved, moveOf, placeOf, readPlace, stopOf } from "../src/replay/place";

describe("the address of a step", () => {
  it("is read from what the router hands over, and refused when it is no step", () => {
    expect([3, "3", "end", "x", "", -1, 1.5, null].map((step) => readPlace({ step }))).toEqual([
      { step: 3 },
      { step: 3 },
      { step: "end" },
      {},
      {},
      {},
      {},
      {},
    ]);
  });

  it("comes back the same from every stop", () => {
    for (let stop = 0; stop <= 4; stop += 1) expect(stopOf(placeOf(stop, 4), 4)).toBe(stop);
    expect(placeOf(4, 4)).toEqual({ step: "end" });
    expect(placeOf(0, 0)).toEqual({ step: 0 });
  });

  it("never lies beyond the steps there are", () => {
    expect(stopOf({ step: 99 }, 4)).toBe(3);
    expect(stopOf({ step: 2 }, 0)).toBe(0);
    expect(stopOf({}, 4)).toBe(0);
  });
});

describe("moving", () => {
  it("stops at both ends", () => {
    expect(moved(0, "previous", 5)).toBe(0);
    expect(moved(4, "next", 5)).toBe(4);
    expect(moved(2, "next", 5)).toBe(3);
    expect(moved(2, "first", 5)).toBe(0);
    expect(moved(2, "last", 5)).toBe(4);
    expect(moved(0, "next", 0)).toBe(0);
  });

  it("knows its keys and no others", () => {
    expect(moveOf(" ")).toBe("play");
    expect(moveOf("ArrowRight")).toBe("next");
    expect(moveOf("a")).toBeUndefined();
    expect(moveOf("constructor")).toBeUndefined();
  });
});
