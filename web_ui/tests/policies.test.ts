import { expect, test } from "vitest";

import type { Policy } from "../src/api/words";
import { acting, idOf, namesOf, policyLine, told } from "../src/parts/policies";

const POLICY: Policy = { id: "policy-1", parent_id: null, metadata: {}, created_at_s: 0, promoted: false };

function made(id: string, metadata: Policy["metadata"]): Policy {
  return { ...POLICY, id, metadata };
}

test("a policy is told by the run that made it, and a reward model is none", () => {
  expect(policyLine(POLICY)).toBe("policy-1");
  const tuned = { ...made("policy-1", { run: "round-1-ppo" }), promoted: true };
  expect(policyLine(tuned)).toBe("round-1-ppo, promoted (policy-1)");
  expect(acting([tuned, made("policy-1", { reward_model: true })])).toEqual([tuned]);
});

test("a name belongs to one policy: where several share it, as much of their ids as tells them apart", () => {
  const names = namesOf([
    made("policy-aaaabbbb", { run: "round-1-ppo" }),
    made("policy-aaaacccc", { run: "round-1-ppo" }),
    made("policy-dddd", { name: "deskhand-tiny" }),
    POLICY,
  ]);
  expect(Object.fromEntries(names)).toEqual({
    "policy-aaaabbbb": "round-1-ppo aaaab",
    "policy-aaaacccc": "round-1-ppo aaaac",
    "policy-dddd": "deskhand-tiny",
  });
  expect(idOf("deskhand-tiny", names)).toBe("policy-dddd");
  expect(idOf("scripted", names)).toBe("scripted");
});

test("what the server wrote names policies as the page does, and leaves those it does not know", () => {
  const names = namesOf([made("policy-1a", { run: "round-1-sft" })]);
  expect(told("greedy success: policy-1a 0.625, policy-2b 0.5, not-policy-1a", names)).toBe(
    "greedy success: round-1-sft 0.625, policy-2b 0.5, not-policy-1a",
  );
  expect(told("the policy-iteration of policy-1ab", names)).toBe("the policy-iteration of policy-1ab");
});
