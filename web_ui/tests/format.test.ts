import { describe, expect, it } from "vitest";

import { count, counted, figure, interval, mark, percent, signed } from "../src/format/numbers";
import { ago, logHere, milliseconds, moment, span, zoned } from "../src/format/times";

describe("numbers", () => {
  it("shows a dash for what is not there", () => {
    expect([percent(null), figure(undefined), count(null), signed(NaN)]).toEqual(["–", "–", "–", "–"]);
  });

  it("shows shares, intervals and signs", () => {
    expect(percent(0.9123)).toBe("91.2\u00a0%");
    expect(interval(0.8812, 0.939)).toBe("88.1–93.9");
    expect([signed(1), signed(0), signed(-0.5)]).toEqual(["+1", "0", "−0.5"]);
  });

  it("keeps three digits that mean something", () => {
    expect([0.012345, 12.3456, 1234.5, 0.00001234, 0].map(figure)).toEqual([
      "0.0123",
      "12.3",
      "1,235",
      "1.2e-5",
      "0",
    ]);
    expect(figure(4.9e-18), "what rounding left of a zero").toBe("0");
    expect([1, 0, 1204].map((steps) => counted(steps, "step"))).toEqual(["1 step", "0 steps", "1,204 steps"]);
    expect([-10000, 2500, 0.5, 0.0005, 4e-18].map(mark)).toEqual(["-10K", "2.5K", "0.5", "5e-4", "4e-18"]);
  });
});

describe("times", () => {
  it("changes units where a person would", () => {
    expect([0.44, 9.99, 42, 59.4, 185, 7620].map(span)).toEqual([
      "0.4 s",
      "10.0 s",
      "42 s",
      "59 s",
      "3 min 05 s",
      "2 h 07 min",
    ]);
    expect(span(119.7)).toBe("2 min 00 s");
    expect(span(-3)).toBe("0.0 s");
    expect([7.4, 1240].map(milliseconds)).toEqual(["7 ms", "1.24 s"]);
  });

  it("tells how long ago", () => {
    expect([1, 59, 61, 7300].map((passed) => ago(10_000 - passed, 10_000))).toEqual([
      "now",
      "59 s ago",
      "1 min ago",
      "2 h ago",
    ]);
  });

  it("names the year of a day in another one, and no other", () => {
    const [now, earlier, before] = [[2026, 10], [2026, 2], [2025, 2]].map(
      ([year = 0, month]) => new Date(year, month ?? 0, 5, 12).getTime() / 1000,
    ) as [number, number, number];
    expect(ago(earlier, now)).not.toMatch(/20\d\d/);
    expect(ago(before, now)).toContain("2025");
  });

  it("tells the zone of a moment", () => {
    const atS = Date.UTC(2026, 10, 25, 1, 14, 25) / 1000;
    expect(zoned(atS)).toMatch(/^2026-11-2\d \d\d:\d\d:25 GMT([+-]\d{1,2}(:\d\d)?)?$/);
    expect(zoned(atS)).toContain(moment(atS));
  });

  it("tells a log's stamps where the reader is, and leaves everything else", () => {
    const here = moment(Date.UTC(2026, 10, 25, 1, 14, 25) / 1000);
    const log = [
      "[2026-11-25T01:14:25Z] metric ppo/iteration step=1",
      "[2026-11-25T01:14:25.250Z] state",
      "saved at [2026-11-25T01:14:25Z]",
      "[01:14:25] metric",
      "[2026-99-99T01:14:25Z] no such day",
      "",
    ];
    expect(logHere(log.join("\n"))).toBe(
      [`[${here}] metric ppo/iteration step=1`, `[${here}] state`, ...log.slice(2)].join("\n"),
    );
  });
});
