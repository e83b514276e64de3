import { expect, test } from "vitest";

import { check, comesAlone, submission, type Draft } from "../src/tasks/submission";

const DRAFT: Draft = { taskId: "miniwob/drag-box", seed: "3", policy: "scripted", policyId: "", url: "", model: "" };

test("a task without an oracle is not given to the oracle", () => {
  expect(check(DRAFT, false).policy).toMatch(/oracle/);
  expect(check(DRAFT, true)).toEqual({});
  expect(check(DRAFT)).toEqual({});
  expect(check({ ...DRAFT, policy: "local", policyId: "policy-1" }, false)).toEqual({});
});

test("what is missing is said of its field", () => {
  expect(Object.keys(check({ ...DRAFT, taskId: " ", seed: "-1" }))).toEqual(["taskId", "seed"]);
  expect(Object.keys(check({ ...DRAFT, policy: "local" }))).toEqual(["policyId"]);
  expect(Object.keys(check({ ...DRAFT, policy: "openai", url: "ftp://x" }))).toEqual(["url", "model"]);
});

test("what boots is not set up for a look until somebody asks", () => {
  expect(["browser", "desktop", "vm", "android"].map((kind) => comesAlone({ kind }))).toEqual([true, true, false, false]);
  expect(comesAlone(undefined)).toBe(false);
});

test("what is sent is trimmed, and settings are the policy's own", () => {
  const sent = submission({ ...DRAFT, taskId: " a/b ", policy: "openai", model: " m ", policyId: "left over" });
  expect([sent.task_id, sent.seed]).toEqual(["a/b", 3]);
  expect(sent.policy).toEqual({ name: "openai", settings: { model: "m" } });
});
