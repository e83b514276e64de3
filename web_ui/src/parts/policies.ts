/** Kept policies as people tell them apart. Pure. */

import type { Policy } from "../api/words";

/** Those that act: process reward models are kept beside them, and only score. */
export function acting(policies: readonly Policy[]): Policy[] {
  return policies.filter((one) => one.metadata.reward_model !== true);
}

/** The run that made it, which says more than its id. */
export function madeBy(policy: Policy): string | null {
  const { run } = policy.metadata;
  return typeof run === "string" && run !== "" ? run : null;
}

/** One line of a list to choose from. */
export function policyLine(policy: Policy): string {
  const said = [madeBy(policy), policy.promoted ? "promoted" : null].filter((one) => one !== null);
  return said.length === 0 ? policy.id : `${policy.id} (${said.join(", ")})`;
}
