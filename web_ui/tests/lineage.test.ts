import { describe, expect, it } from "vitest";

import type { Lineage } from "../src/api/words";
import { layout } from "../src/flywheel/layout";

function node(kind: Lineage["kind"], name: string, sources: Lineage[] = [], above = false): Lineage {
  return { kind, name, relation: "of", details: {}, above, cut: false, kept: true, sources };
}

describe("layout", () => {
  it("draws a lone node", () => {
    const graph = layout(node("policy", "p"));
    expect(graph).toMatchObject({ columns: 1, rows: 1, edges: [] });
  });

  it("puts sources to the right, and each node once however often it is met", () => {
    const base = node("policy", "base", [node("trajectories", "oracle")]);
    const again = node("policy", "base", [], true);
    const root = node("policy", "new", [
      base,
      node("dataset", "d@1", [node("trajectories", "base", [again])]),
    ]);
    const graph = layout(root);
    const column = Object.fromEntries(
      graph.nodes.map((one) => [one.lineage.name + one.lineage.kind, one.column]),
    );
    expect(column).toEqual({
      newpolicy: 0,
      "d@1dataset": 1,
      basetrajectories: 2,
      basepolicy: 3,
      oracletrajectories: 4,
    });
    expect(
      graph.nodes.find((one) => one.lineage.name === "base" && one.lineage.kind === "policy")?.lineage.above,
    ).toBe(false);
    expect(graph.edges).toHaveLength(5);
    expect(new Set(graph.nodes.map((one) => `${one.column} ${one.row}`)).size).toBe(graph.nodes.length);
  });

  it("keeps episodes of two datasets apart", () => {
    const played = () => node("trajectories", "oracle");
    const graph = layout(
      node("policy", "p", [node("dataset", "a@1", [played()]), node("dataset", "b@1", [played()])]),
    );
    expect(graph.nodes).toHaveLength(5);
  });

  it("draws in full what was too deep where it is met again", () => {
    const whole = node("policy", "q", [node("policy", "r")]);
    const root = node("policy", "p", [node("dataset", "d@1", [{ ...whole, sources: [], cut: true }]), whole]);
    expect(layout(root).nodes.map((one) => [one.lineage.name, one.lineage.cut])).toEqual([
      ["p", false],
      ["d@1", false],
      ["q", false],
      ["r", false],
    ]);
  });

  it("ends on a circle", () => {
    const graph = layout(node("policy", "p", [node("policy", "q", [node("policy", "p", [], true)])]));
    expect(graph.nodes).toHaveLength(2);
  });
});
