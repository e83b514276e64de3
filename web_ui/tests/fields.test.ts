import { describe, expect, it } from "vitest";

import {
  at,
  blamed,
  draftOf,
  read,
  sectionsOf,
  shown,
  takesPlace,
  type Field,
  type Schema,
} from "../src/rounds/form/fields";

const SCHEMA: Schema = {
  properties: {
    start: { type: "string", default: "promoted", description: "Where it begins." },
    ppo: {
      type: ["object", "null"],
      description: "The online loop.",
      properties: {
        iterations: { type: "integer", default: 50, minimum: 1 },
        lr: { type: "number", default: 0.0005, minimum: 0, maximum: 1 },
        packing: { type: "boolean", default: true },
        memory: { anyOf: [{ enum: ["window", "summary"], type: "string" }, { type: "null" }], default: null },
        tasks: { type: "array", items: { type: "string" }, default: ["a/b"] },
        band: {
          anyOf: [{ type: "array", prefixItems: [{ type: "number" }] }, { type: "null" }],
          default: null,
        },
        lambda: { anyOf: [{ type: "number" }, { const: "adaptive", type: "string" }], default: 0.95 },
        value: { properties: { max_epochs: { type: "integer", default: 40, maximum: 99 } } },
      },
    },
    promote: { type: "object", properties: { measure: { enum: ["sampled", "greedy"], default: "sampled" } } },
  },
};
const SECTIONS = sectionsOf(SCHEMA);
const CONFIG = { ppo: { iterations: 4, value: { max_epochs: 2 }, tasks: ["x", "y"] } };

function field(path: string): Field {
  const found = SECTIONS.flatMap((section) => section.fields).find((one) => one.path === path);
  if (!found) throw new Error(path);
  return found;
}

describe("the form of a round's config", () => {
  it("has a section for what belongs to no phase, and one for each phase, nested fields in them", () => {
    expect(SECTIONS.map((section) => [section.name, section.phase])).toEqual([
      ["round", false],
      ["ppo", true],
      ["promote", false],
    ]);
    expect(SECTIONS[1]?.fields.map((one) => [one.path, one.kind, one.optional])).toEqual([
      ["ppo.iterations", "whole", false],
      ["ppo.lr", "number", false],
      ["ppo.packing", "flag", false],
      ["ppo.memory", "choice", true],
      ["ppo.tasks", "list", false],
      ["ppo.band", "json", true],
      ["ppo.lambda", "json", false],
      ["ppo.value.max_epochs", "whole", false],
    ]);
    expect(field("ppo.value.max_epochs").label).toBe("value.max epochs");
  });

  it("shows what the preset says, else the default", () => {
    expect(at(CONFIG, "ppo.value.max_epochs")).toBe(2);
    expect(shown(field("ppo.iterations"), CONFIG)).toBe("4");
    expect(shown(field("ppo.lr"), CONFIG)).toBe("0.0005");
    expect(shown(field("ppo.tasks"), CONFIG)).toBe("x\ny");
    expect(shown(field("ppo.memory"), CONFIG)).toBe("");
    expect(shown(field("ppo.lambda"), CONFIG)).toBe("0.95");
    expect(shown(field("start"), CONFIG)).toBe("promoted");
  });

  it("reads values back, and says what is wrong with an example", () => {
    expect(read(field("ppo.iterations"), " 12 ")).toEqual({ value: 12 });
    expect(read(field("ppo.iterations"), "1.5")).toEqual({ error: "A whole number, such as 50." });
    expect(read(field("ppo.iterations"), "0")).toEqual({ error: "At least 1, such as 50." });
    expect(read(field("ppo.lr"), "2")).toEqual({ error: "At most 1, such as 0.0005." });
    expect(read(field("ppo.lr"), "")).toEqual({ error: "A number, such as 0.0005." });
    expect(read(field("ppo.memory"), "")).toEqual({ value: null });
    expect(read(field("ppo.tasks"), "a, b\n\nc")).toEqual({ value: ["a", "b", "c"] });
    expect(read(field("ppo.band"), "[0, 1]")).toEqual({ value: [0, 1] });
    expect(read(field("ppo.lambda"), '"adaptive"')).toEqual({ value: "adaptive" });
    expect(read(field("ppo.band"), "[")).toEqual({ error: "Not JSON, such as [0.05, 0.95]." });
  });

  it("sends only what was changed, and names what cannot be sent", () => {
    const edits = { "ppo.value.max_epochs": "3", start: "untrained", "ppo.lr": "much" };
    expect(draftOf(SECTIONS, CONFIG, edits)).toEqual({
      overrides: { start: "untrained", ppo: { value: { max_epochs: 3 } } },
      errors: { "ppo.lr": "A number, such as 0.0005." },
      changes: 3,
    });
    expect(draftOf(SECTIONS, CONFIG, { ppo: "out", "ppo.lr": "much" })).toEqual({
      overrides: { ppo: null },
      errors: {},
      changes: 1,
    });
    expect(draftOf(SECTIONS, {}, { ppo: "in", "ppo.lr": "0.1" }).overrides).toEqual({ ppo: { lr: 0.1 } });
  });

  it("tells of what is left out of an object, which the server would keep", () => {
    const sections = sectionsOf({ properties: { routes: { type: "object", default: {} } } });
    const config = { routes: { sft: { outcome: "all", unique: true }, best: { outcome: "success" } } };
    const said = (routes: unknown) => draftOf(sections, config, { routes: JSON.stringify(routes) });
    expect(said({ sft: { outcome: "all", unique: true } }).errors).toEqual({
      routes: 'What is left out stays as it was, and "best" is: give it null to go without it.',
    });
    expect(said({ sft: { outcome: "all" }, best: null }).errors).toEqual({
      routes: 'What is left out stays as it was, and "sft.unique" is: write what is to hold.',
    });
    const more = { sft: { outcome: "all", unique: false }, best: null, worst: { outcome: "failure" } };
    expect(said(more)).toEqual({ overrides: { routes: more }, errors: {}, changes: 1 });
  });

  it("switches no phase on by what was changed in it under another preset", () => {
    const edits = { "ppo.lr": "0.1", start: "untrained" };
    expect(draftOf(SECTIONS, CONFIG, edits).overrides).toEqual({ start: "untrained", ppo: { lr: 0.1 } });
    for (const without of [{}, { ppo: null }])
      expect(draftOf(SECTIONS, without, edits)).toEqual({
        overrides: { start: "untrained" },
        errors: {},
        changes: 1,
      });
  });

  it("knows which phases take place", () => {
    const ppo = SECTIONS[1];
    if (!ppo) throw new Error("no phase");
    expect([CONFIG, { ppo: null }, {}].map((config) => takesPlace(ppo, config, {}))).toEqual([
      true,
      false,
      false,
    ]);
    expect(takesPlace(ppo, { ppo: null }, { ppo: "in" })).toBe(true);
    expect(takesPlace(ppo, CONFIG, { ppo: "out" })).toBe(false);
  });

  it("finds the field of a server's complaint", () => {
    expect(blamed(SECTIONS, "ppo.tasks[2]")).toBe("ppo.tasks");
    expect(blamed(SECTIONS, "ppo.value.max_epochs")).toBe("ppo.value.max_epochs");
    expect(blamed(SECTIONS, "ppo.nothing")).toBe(null);
    expect(blamed(SECTIONS, null)).toBe(null);
  });
});
