import { describe, expect, it } from "vitest";

import { startOfDay } from "../src/format/times";
import { readFilter } from "../src/trajectories/filter";
import { readViews, same, withView } from "../src/trajectories/views";

describe("filters needed now and then", () => {
  it("are read from the address, and left out where they make no sense", () => {
    const search = { text: "log in", failure: "verifier", min_score: 0.5, max_turns: 30, since: "2026-11-23" };
    expect(readFilter(search)).toEqual(search);
    expect(
      readFilter({ failure: "boredom", min_score: "x", max_turns: -1, min_turns: 1.5, until: "23.11.2026" }),
    ).toEqual({});
    expect(readFilter({ since: "2026-13-45", text: 404 })).toEqual({ text: "404" });
  });

  it("begin and end a day where the reader is", () => {
    const noon = new Date(2026, 1, 28, 12).getTime() / 1000;
    expect(startOfDay("2026-02-28")).toBe(noon - 12 * 3600);
    expect(startOfDay("2026-02-28", 1)).toBe(new Date(2026, 2, 1).getTime() / 1000);
  });
});

describe("saved views", () => {
  it("are kept by name, the newest of a name alone", () => {
    const views = withView(withView([], { name: "b", filter: { task: "x" } }), { name: "a", filter: {} });
    expect(views.map((view) => view.name)).toEqual(["a", "b"]);
    expect(withView(views, { name: "b", filter: { task: "y" } })).toEqual([
      { name: "a", filter: {} },
      { name: "b", filter: { task: "y" } },
    ]);
  });

  it("survive a round through the browser's memory, and rubbish there", () => {
    const views = [{ name: "failures", filter: { outcome: "failure" as const, min_turns: 3 } }];
    expect(readViews(JSON.stringify(views))).toEqual(views);
    for (const kept of [null, "", "{", "{}", '"x"', '[1, null, {"name": 3, "filter": {}}, {"name": ""}]'])
      expect(readViews(kept)).toEqual([]);
    expect(readViews('[{"name": "x", "filter": {"outcome": "<b>"}}]')).toEqual([{ name: "x", filter: {} }]);
  });

  it("are those whose filters are in force, in any order", () => {
    expect(same({ task: "a", text: "b" }, { text: "b", task: "a" })).toBe(true);
    expect(same({ task: "a" }, {})).toBe(false);
  });
});
