/** An alarm in words. Pure. */

import type { Alarm } from "../api/words";
import { figure } from "../format/numbers";

const TITLES: Record<string, string> = {
  no_rollouts: "No episodes are arriving",
  failure_rate: "Many episodes break",
  disk_low: "The disk is nearly full",
  reward_collapse: "Success has collapsed",
  entropy_collapse: "Entropy has collapsed",
  child_died: "A process of the platform died",
  success_low: "Success is low",
  clip_high: "Clip fraction is high",
  kl_high: "KL is high",
  logprob_gap: "Engine and trainer disagree",
  unanswered: "Questions go unanswered",
  not_finite: "Numbers are not finite",
  value_unexplained: "The critic explains too little",
  reward_model_too_slow: "The reward model is too slow",
  no_rollouts_arriving: "No rollouts are arriving",
};

export function titleOf(alarm: Pick<Alarm, "name">): string {
  return TITLES[alarm.name] ?? alarm.name.replaceAll("_", " ");
}

/** "1.5 GB free, limit 2; `deskhand …` drops what nothing cites"; other figures by their names. */
export function textOf(alarm: Pick<Alarm, "data">): string {
  const { value, limit, unit, advice, ...others } = alarm.data;
  const measured = [
    ...(typeof value === "number" ? [`${figure(value)}${typeof unit === "string" ? ` ${unit}` : ""}`] : []),
    ...(typeof limit === "number" ? [`limit ${figure(limit)}`] : []),
    ...Object.entries(others)
      .filter(([, other]) => typeof other === "number" || typeof other === "string")
      .map(
        ([name, other]) =>
          `${name.replaceAll("_", " ")} ${typeof other === "number" ? figure(other) : String(other)}`,
      ),
  ].join(", ");
  return [measured, typeof advice === "string" ? advice : ""].filter((part) => part !== "").join("; ");
}

/** "run:round-3-ppo" as the rest of the page tells it: round-3-ppo. */
export function subjectOf(subject: string): string {
  return subject.replace(/^run:/, "").replace(/^round:/, "round ");
}

/** Where a subject has a page: "run:round-3-ppo" and "round:3" both in round 3. */
export function roundOf(subject: string): string | null {
  return /^(?:round:|run:round-)(\d+)/.exec(subject)?.[1] ?? null;
}
