import { describe, expect, it } from "vitest";

import type { Event } from "../src/api/words";
import {
  alarmsOf,
  alone,
  has,
  last,
  pointsOf,
  reach,
  rewardParts,
  SUCCESS,
  DIAGNOSTICS,
} from "../src/rounds/curves";

let nextId = 1;
function event(kind: Event["kind"], name: string, data: Event["data"]): Event {
  return { id: nextId++, at_s: 0, subject: "run:round-1-ppo", kind, name, data };
}

describe("pointsOf", () => {
  it("joins what several events say of one iteration, in the order of iterations", () => {
    const points = pointsOf([
      event("metric", "ppo/iteration", { step: 2, kl_per_turn: 0.02, success_sampled: 0.3 }),
      event("metric", "ppo/iteration", { step: 1, kl_per_turn: 0.01, success_sampled: 0.25 }),
      event("metric", "ppo/validation", { step: 2, success_sampled: 0.4, success_greedy: 0.5 }),
    ]);
    expect(points).toEqual([
      { iteration: 1, "iteration/kl_per_turn": 0.01, "iteration/success_sampled": 0.25 },
      {
        iteration: 2,
        "iteration/kl_per_turn": 0.02,
        "iteration/success_sampled": 0.3,
        "validation/success_sampled": 0.4,
        "validation/success_greedy": 0.5,
      },
    ]);
  });

  it("lets an iteration done again after a restart replace its first figures", () => {
    const points = pointsOf([
      event("metric", "ppo/iteration", { step: 5, entropy: 1 }),
      event("metric", "ppo/iteration", { step: 5, entropy: 0.5 }),
    ]);
    expect(points).toEqual([{ iteration: 5, "iteration/entropy": 0.5 }]);
  });

  it("leaves out states, alarms, texts and what is no number", () => {
    const points = pointsOf([
      event("state", "ppo/iteration", { step: 1 }),
      event("alarm", "ppo/iteration", { step: 1, kl_per_turn: 9 }),
      event("metric", "ppo/value_pretraining", { step: 0, success_sampled: 1 }),
      event("metric", "ppo/iteration", { step: 3, explained_variance: null, note: "x", kl_per_turn: 0 }),
    ]);
    expect(points).toEqual([{ iteration: 3, "iteration/kl_per_turn": 0 }]);
  });

  it("says whether and what was last measured", () => {
    const points = [
      { iteration: 1, a: 1 },
      { iteration: 2, a: 2 },
      { iteration: 3, b: 0 },
    ];
    expect(last(points, "a")).toBe(2);
    expect(last(points, "c")).toBeUndefined();
    expect(has(points, ["c", "b"])).toBe(true);
    expect(has(points, ["c"])).toBe(false);
  });
});

describe("what a chart needs", () => {
  it("is a dot where a line has one point only, however many points others have", () => {
    const points = [
      { iteration: 0, a: 1 },
      { iteration: 1, a: 1, b: 2 },
    ];
    expect([alone(points, "a"), alone(points, "b"), alone(points, "c")]).toEqual([false, true, false]);
  });

  it("is room for data, intervals and the limit, and its own ends where it has them", () => {
    const points = [{ iteration: 1, "iteration/kl_per_turn": 0.02 }];
    expect(DIAGNOSTICS.map((chart) => [chart.title, ...reach(chart, points)])).toEqual([
      ["KL per turn", 0, 0.15],
      ["KL to the reference", 0, 0],
      ["Clip fraction", 0, 0.3],
      ["Explained variance", 0, 1],
      ["Entropy", 0, 0],
      ["Staleness", 0, 0],
      ["Turns per second", 0, 0],
      ["Time", 0, 1],
    ]);
    expect(reach(SUCCESS, [])).toEqual([0, 1]);
  });
});

describe("alarmsOf", () => {
  it("is newest first and tells the figure, its limit and what to do", () => {
    const alarms = alarmsOf([
      event("alarm", "kl_high", { iteration: 12, value: 0.42, limit: 0.15, advice: "lower lr" }),
      event("metric", "ppo/iteration", { iteration: 1 }),
      event("alarm", "clip_high", { clip_fraction: 0.4, iteration: 3, nested: {} }),
    ]);
    expect(alarms.map((alarm) => [alarm.name, alarm.text])).toEqual([
      ["Clip fraction is high", "iteration 3: clip fraction 0.4"],
      ["KL is high", "iteration 12: 0.42, limit 0.15; lower lr"],
    ]);
  });

  it("tells of an alarm once, with its unit, whatever is said of it later", () => {
    const alarms = alarmsOf([
      event("alarm", "reward_collapse", { value: 0.12, limit: 0.2, unit: "success", state: "raised" }),
      event("alarm", "reward_collapse", { by: "ada", state: "acknowledged" }),
      event("alarm", "reward_collapse", { state: "cleared" }),
    ]);
    expect(alarms.map((alarm) => alarm.text)).toEqual(["0.12 success, limit 0.2"]);
  });
});

describe("rewardParts", () => {
  it("has a line for each part that any iteration told of, and throughput is turns by seconds", () => {
    const told = { step: 1, reward_outcome: 0.5, reward_process: 0.1, turns: 30, seconds: 60 };
    const points = pointsOf([event("metric", "ppo/iteration", told)]);
    expect(rewardParts(points).lines.map((line) => line.label)).toEqual(["outcome", "process"]);
    expect(last(points, "iteration/turns_per_s")).toBe(0.5);
    expect(rewardParts([]).lines).toEqual([]);
  });
});
