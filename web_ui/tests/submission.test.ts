import { expect, test } from "vitest";

import { check, comesAlone, DRAFT as EMPTY, submission, type Draft } from "../src/tasks/submission";

const DRAFT: Draft = { ...EMPTY, taskId: "miniwob/drag-box", seed: "3" };
const LENT = { kind: "browser", lent: true, oracle: true };
const NOW = 1_000_000;

test("a task without an oracle is not given to the oracle", () => {
  expect(check(DRAFT, { ...LENT, oracle: false }).policy).toMatch(/oracle/);
  expect(check(DRAFT, LENT)).toEqual({});
  expect(check(DRAFT)).toEqual({});
  expect(check({ ...DRAFT, policy: "local", policyId: "policy-1" }, { ...LENT, oracle: false })).toEqual({});
});

test("a task that no sandbox here can be used for is not submitted", () => {
  expect(check(DRAFT, { ...LENT, kind: "android", lent: false }).taskId).toBe("Sandboxes of kind android are not lent here.");
});

test("what is missing is said of its field", () => {
  expect(Object.keys(check({ ...DRAFT, taskId: " ", seed: "-1" }))).toEqual(["taskId", "seed"]);
  expect(Object.keys(check({ ...DRAFT, seed: "1.5" }))).toEqual(["seed"]);
  expect(Object.keys(check({ ...DRAFT, policy: "local" }))).toEqual(["policyId"]);
  expect(Object.keys(check({ ...DRAFT, policy: "openai", url: "javascript:alert(1)" }))).toEqual(["url", "model"]);
});

test("what boots is not set up for a look until somebody asks", () => {
  expect(["browser", "desktop", "vm", "android"].map((kind) => comesAlone({ kind, lent: true }))).toEqual([true, true, false, false]);
  expect([comesAlone(undefined), comesAlone({ kind: "browser", lent: false })]).toEqual([false, false]);
});

test("what is sent is trimmed, and settings are the policy's own", () => {
  const sent = submission({ ...DRAFT, taskId: " a/b ", policy: "openai", model: " m ", policyId: "left over" }, NOW);
  expect([sent.task_id, sent.seed]).toEqual(["a/b", 3]);
  expect(sent.policy).toEqual({ name: "openai", settings: { model: "m" } });
  expect(submission({ ...DRAFT, policy: "local", policyId: "p1" }, NOW).policy.settings).toEqual({ policy_id: "p1" });
});

test("a task without more asks for nothing more", () => {
  expect(submission(DRAFT, NOW)).toEqual({
    task_id: "miniwob/drag-box",
    seed: 3,
    policy: { name: "scripted", settings: {} },
    labels: {},
    priority: 0,
  });
});

test("priority, deadline, review and labels are sent as they are meant", () => {
  const draft = { ...DRAFT, priority: " -5", within: "1.5", review: "60", labels: " batch = nightly , sum=a=b, " };
  expect(check(draft)).toEqual({});
  const sent = submission(draft, NOW);
  expect([sent.priority, sent.deadline_s, sent.policy.review_s]).toEqual([-5, 1090, 60]);
  expect(sent.labels).toEqual({ batch: "nightly", sum: "a=b" });
});

test.each([
  ["priority", ["101", "1.5", "", "-"]],
  ["within", ["0", "-1", "soon"]],
  ["review", ["601", "0"]],
  ["labels", ["nightly", "=x"]],
] as const)("%s is refused by its own field", (part, wrong) => {
  for (const written of wrong) expect(Object.keys(check({ ...DRAFT, [part]: written }))).toEqual([part]);
});
