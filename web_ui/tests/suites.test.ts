import { expect, test } from "vitest";

import type { Policy, Suite } from "../src/api/words";
import { badName, gathered, suiteWith } from "../src/evaluations/suites";
import { acting, policyLine } from "../src/parts/policies";

const SUITES: Suite[] = [
  { name: "smoke", tasks: ["a"], own: false },
  { name: "forms", tasks: ["a", "b"], own: true },
];

test("a suite has a plain name that Deskhand does not use itself", () => {
  expect(badName("forms", SUITES)).toBeNull();
  expect(badName("more-forms.2", SUITES)).toBeNull();
  expect(badName("smoke", SUITES)).toMatch(/another/);
  for (const name of ["", "Forms", ".forms", "a b", "a/b", "a".repeat(65)])
    expect(badName(name, SUITES), name).toMatch(/letters/);
});

test("a suite is known again by its tasks, in whatever order", () => {
  expect(suiteWith(["b", "a", "b"], SUITES)?.name).toBe("forms");
  expect(suiteWith(["b"], SUITES)).toBeNull();
});

test("what stands in the field counts as chosen, once", () => {
  expect(gathered(["a"], " b ")).toEqual(["a", "b"]);
  expect(gathered(["a"], "a")).toEqual(["a"]);
  expect(gathered([], "  ")).toEqual([]);
});

const POLICY: Policy = { id: "policy-1", parent_id: null, metadata: {}, created_at_s: 0, promoted: false };

test("a policy is told by the run that made it, and a reward model is none", () => {
  expect(policyLine(POLICY)).toBe("policy-1");
  const made = { ...POLICY, promoted: true, metadata: { run: "round-1-ppo" } };
  expect(policyLine(made)).toBe("policy-1 (round-1-ppo, promoted)");
  expect(acting([made, { ...POLICY, metadata: { reward_model: true } }])).toEqual([made]);
});
