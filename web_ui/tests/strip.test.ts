import { describe, expect, it } from "vitest";

import type { Step } from "../src/api/words";
import { cellsOf, cellWidth, scaleOf, scoreColour, scorersOf, timeShares } from "../src/replay/strip";

function step(index: number, part: Partial<Step> = {}): Step {
  return {
    index,
    image: { digest: "0".repeat(64), format: "png", width_px: 160, height_px: 210, url: "/v1/images/0" },
    url: null,
    settled: true,
    text: "",
    thought: null,
    actions: [{ type: "click", text: "click()", points: [[1, 1]], arguments: {} }],
    error: null,
    action_error: null,
    answer: null,
    reward: 0,
    value: null,
    entropy: null,
    trainable: false,
    reply_tokens: null,
    timings: { model_ms: 0, act_ms: 0, settle_ms: 0 },
    finished_at_s: 0,
    review: null,
    scores: [],
    ...part,
  };
}

function score(step_index: number, value: number, scorer: string): Step["scores"][number] {
  return { step_index, score: value, scorer, rationale: null };
}

describe("cellsOf", () => {
  it("takes the scores of one scorer only", () => {
    const steps = [step(0, { scores: [score(0, 0.2, "prm:a"), score(0, 0.9, "human:ada")] }), step(1)];
    expect(cellsOf(steps, "human:ada").map((cell) => cell?.score)).toEqual([0.9, null]);
    expect(cellsOf(steps, "prm:a").map((cell) => cell?.score)).toEqual([0.2, null]);
    expect(cellsOf(steps, null).map((cell) => cell?.score)).toEqual([null, null]);
    expect(scorersOf(steps)).toEqual(["prm:a", "human:ada"]);
  });

  it("keeps a score of zero apart from none", () => {
    expect(cellsOf([step(0, { scores: [score(0, 0, "prm:a")] })], "prm:a")[0]?.score).toBe(0);
  });

  it("marks void turns, several actions and trouble", () => {
    const two = step(1);
    const cells = cellsOf(
      [
        step(0, { actions: [], error: "no action" }),
        { ...two, actions: [...two.actions, ...two.actions] },
        step(2, { action_error: "off screen" }),
      ],
      null,
    );
    expect(cells.map((cell) => [cell?.sign, cell?.trouble])).toEqual([
      ["∅", true],
      ["◎+", false],
      ["◎", true],
    ]);
  });
});

describe("steps that are not loaded yet", () => {
  it("leave their cells empty and say nothing about the others", () => {
    const steps = [undefined, step(1, { value: 2.5, scores: [score(1, 0, "prm:a")] }), undefined];
    const cells = cellsOf(steps, "prm:a");
    expect(cells.map((cell) => cell?.index ?? null)).toEqual([null, 1, null]);
    expect(scorersOf(steps)).toEqual(["prm:a"]);
    expect(scaleOf(cells)).toEqual({ scored: true, top: 2.5 });
    expect(scaleOf([null, null])).toEqual({ scored: false, top: null });
    expect(scaleOf(cellsOf([step(0, { value: -3 })], null))).toEqual({ scored: false, top: 1 });
  });
});

describe("cellWidth", () => {
  it("shares the room within its limits", () => {
    expect(cellWidth(1000, 10, 4)).toBe(80);
    expect(cellWidth(1000, 20, 4)).toBe(46);
    expect(cellWidth(1000, 90, 4)).toBe(36);
    expect(cellWidth(1000, 500, 4)).toBe(44);
    expect(cellWidth(-16, 0, 4)).toBe(36);
  });
});

describe("scoreColour", () => {
  it("runs from harm over neutral to help, and holds beyond the ends", () => {
    expect(scoreColour(0)).toBe("color-mix(in oklab, var(--bad) 100%, var(--faint))");
    expect(scoreColour(0.25)).toBe("color-mix(in oklab, var(--bad) 50%, var(--faint))");
    expect(scoreColour(0.5)).toBe("color-mix(in oklab, var(--good) 0%, var(--faint))");
    expect(scoreColour(1)).toBe("color-mix(in oklab, var(--good) 100%, var(--faint))");
    expect(scoreColour(-3)).toBe(scoreColour(0));
    expect(scoreColour(7)).toBe(scoreColour(1));
  });
});

describe("timeShares", () => {
  it("tells acting without its settling, and the shares add up", () => {
    const parts = timeShares({ model_ms: 60, act_ms: 40, settle_ms: 30 });
    expect(parts.map((part) => [part.label, part.ms])).toEqual([
      ["model", 60],
      ["act", 10],
      ["settle", 30],
    ]);
    expect(parts.reduce((sum, part) => sum + part.share, 0)).toBeCloseTo(1);
  });

  it("has no shares of nothing", () => {
    expect(timeShares({ model_ms: 0, act_ms: 0, settle_ms: 5 }).map((part) => part.share)).toEqual([0, 0, 0]);
  });
});
