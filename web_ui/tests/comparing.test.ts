import { describe, expect, it } from "vitest";

import type { Event, Round } from "../src/api/words";
import { compared, MEASURES, readCompareRounds, trainingRun } from "../src/rounds/comparing";

function round(id: number, run: string | null): Round {
  const phase = { name: "ppo", kind: "ppo", run_id: run };
  return {
    id,
    preset: "smoke",
    phases: [{ name: "sft", kind: "sft", run_id: "s" }, phase],
  } as unknown as Round;
}

function told(run: string, step: number, data: Record<string, number>): Event {
  const body = { step, ...data };
  return { id: step, at_s: 0, subject: `run:${run}`, kind: "metric", name: "ppo/validation", data: body };
}

describe("rounds compared", () => {
  it("have a line each, with its interval, joined by iteration", () => {
    const rounds = [round(1, "a"), round(2, "b")];
    const [greedy] = MEASURES;
    if (!greedy) throw new Error("no measure");
    const { chart, points } = compared(greedy, rounds, [
      told("a", 1, { success_greedy: 0.5, success_greedy_low: 0.4, success_greedy_high: 0.6 }),
      told("b", 1, { success_greedy: 0.7 }),
      told("b", 2, { success_greedy: 0.8, success_sampled: 0.1 }),
      told("other", 3, { success_greedy: 1 }),
    ]);
    expect(chart.lines.map((line) => line.label)).toEqual(["#1 smoke", "#2 smoke"]);
    expect(points).toEqual([
      { iteration: 1, "round 1": 0.5, "round 1 low": 0.4, "round 1 high": 0.6, "round 2": 0.7 },
      { iteration: 2, "round 2": 0.8 },
    ]);
  });

  it("take the online loop's run, before it what trained", () => {
    expect([trainingRun(round(1, "a")), trainingRun(round(1, null))]).toEqual(["a", "s"]);
  });

  it("stand in the address", () => {
    expect(readCompareRounds({ ids: [3, 3, "x", 1], measure: "iteration/entropy" })).toEqual({
      ids: [3, 1],
      measure: "iteration/entropy",
    });
    expect(readCompareRounds({ ids: "3", measure: "nothing" })).toEqual({ ids: [] });
  });
});
