/** Kept policies as people tell them apart. Pure. */

import type { Policy } from "../api/words";

/** What the server calls the model that comes with Deskhand; it is kept the first time it is used. */
export const SHIPPED = "deskhand-tiny";

/** Those that act: process reward models are kept beside them, and only score. */
export function acting(policies: readonly Policy[]): Policy[] {
  return policies.filter((one) => one.metadata.reward_model !== true);
}

/** The run that made it, or the name it came with: either says more than its id. */
export function madeBy(policy: Policy): string | null {
  const said = [policy.metadata.run, policy.metadata.name];
  return said.find((one): one is string => typeof one === "string" && one !== "") ?? null;
}

/** One line of a list to choose from. */
export function policyLine(policy: Policy): string {
  const name = madeBy(policy);
  const promoted = policy.promoted ? ", promoted" : "";
  return name === null ? `${policy.id}${promoted}` : `${name}${promoted} (${policy.id})`;
}

/** Names by id; where a run made several, each with as much of its id as tells it from the others. */
export function namesOf(policies: readonly Policy[]): Map<string, string> {
  const groups = new Map<string, string[]>();
  for (const policy of policies) {
    const name = madeBy(policy);
    if (name !== null) groups.set(name, [...(groups.get(name) ?? []), policy.id]);
  }
  const names = new Map<string, string>();
  for (const [name, ids] of groups) {
    const length = shortest(ids.map(bare));
    for (const id of ids) names.set(id, ids.length === 1 ? name : `${name} ${bare(id).slice(0, length)}`);
  }
  return names;
}

/** A text of the server with every id in it told by its name. */
export function told(text: string, names: ReadonlyMap<string, string>): string {
  return text.replace(/(?<![\w-])policy-[\w-]+/g, (id) => names.get(id) ?? id);
}

/** The id that a name, or an id, means. */
export function idOf(typed: string, names: ReadonlyMap<string, string>): string {
  for (const [id, name] of names) if (name === typed) return id;
  return typed;
}

function bare(id: string): string {
  return id.replace(/^policy-/, "");
}

function shortest(ids: readonly string[]): number {
  const longest = Math.max(0, ...ids.map((id) => id.length));
  for (let length = 4; length < longest; length += 1) {
    if (new Set(ids.map((id) => id.slice(0, length))).size === ids.length) return length;
  }
  return longest;
}
