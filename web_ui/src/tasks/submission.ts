/** From what stands in the form to what is sent. Pure. */

import type { CatalogTask, TaskSubmission } from "../api/words";

export interface Draft {
  taskId: string;
  seed: string;
  policy: string;
  /** Only for the local policy: a kept policy's id, or the name of the model that comes with Deskhand. */
  policyId: string;
  /** Only for the openai policy. */
  url: string;
  model: string;
  priority: string;
  /** Minutes from now; empty: whenever. */
  within: string;
  /** "name=value", several parted by commas. */
  labels: string;
  /** Seconds that a person has to see each action before it is carried out; empty: nobody is asked. */
  review: string;
}

export const DRAFT: Omit<Draft, "taskId"> = {
  seed: "0",
  policy: "scripted",
  policyId: "",
  url: "",
  model: "",
  priority: "0",
  within: "",
  labels: "",
  review: "",
};

export type DraftErrors = Partial<Record<keyof Draft, string>>;

/** What is wrong with it; `task`: the one it names, as far as is known. */
export function check(draft: Draft, task?: Pick<CatalogTask, "kind" | "lent" | "oracle">): DraftErrors {
  const errors: DraftErrors = {};
  if (draft.taskId.trim() === "") errors.taskId = "Choose a task.";
  else if (task?.lent === false) errors.taskId = notLent(task.kind);
  if (!/^\d{1,15}$/.test(draft.seed.trim())) errors.seed = "A seed is a whole number from 0.";
  if (draft.policy === "scripted" && task?.oracle === false)
    errors.policy = "Nobody wrote an oracle for this task; choose a policy that looks for itself.";
  if (draft.policy === "openai" && draft.url !== "" && !/^https?:\/\//.test(draft.url.trim())) {
    errors.url = "An address begins with http:// or https://.";
  }
  if (draft.policy === "openai" && draft.model.trim() === "")
    errors.model = "Name the model the endpoint serves.";
  if (draft.policy === "local" && draft.policyId === "")
    errors.policyId = "Choose a policy.";
  if (!/^-?\d{1,3}$/.test(draft.priority.trim()) || Math.abs(Number(draft.priority)) > 100)
    errors.priority = "A priority is a whole number from -100 to 100; higher ones go first.";
  if (!emptyOrUpTo(draft.within, 60 * 24 * 365))
    errors.within = "Minutes are a number above 0; leave it empty for no deadline.";
  if (!emptyOrUpTo(draft.review, 600)) errors.review = "Seconds are a number above 0, 600 at most.";
  if (pairs(draft.labels).some(([name, value]) => name === "" || value === undefined))
    errors.labels = "Labels are written name=value, several parted by commas.";
  return errors;
}

/** What is said of a task that no sandbox here can be used for. */
export function notLent(kind: string): string {
  return `Sandboxes of kind ${kind} are not lent here.`;
}

function emptyOrUpTo(written: string, most: number): boolean {
  const number = Number(written);
  return written.trim() === "" || (number > 0 && number <= most);
}

/** Of what is written; the value is missing where there is no "=". */
function pairs(labels: string): [string, string | undefined][] {
  return labels
    .split(",")
    .filter((one) => one.trim() !== "")
    .map((one) => {
      const [name = "", ...value] = one.split("=");
      return [name.trim(), value.length === 0 ? undefined : value.join("=").trim()];
    });
}

/** Machines that boot take long: they are set up for a look only when somebody asks. */
const SLOW_KINDS: readonly string[] = ["vm", "android"];

/** Whether a task is shown without being asked for. */
export function comesAlone(task: Pick<CatalogTask, "kind" | "lent"> | undefined): boolean {
  return task?.lent === true && !SLOW_KINDS.includes(task.kind);
}

/** What is sent. `now`: in milliseconds, as of Date. */
export function submission(draft: Draft, now: number): TaskSubmission {
  return {
    task_id: draft.taskId.trim(),
    seed: Number(draft.seed.trim()),
    policy: {
      name: draft.policy,
      settings: settings(draft),
      ...(draft.review.trim() === "" ? {} : { review_s: Number(draft.review) }),
    },
    labels: Object.fromEntries(pairs(draft.labels)) as Record<string, string>,
    priority: Number(draft.priority),
    ...(draft.within.trim() === "" ? {} : { deadline_s: now / 1000 + Number(draft.within) * 60 }),
  };
}

function settings(draft: Draft): Record<string, string> {
  if (draft.policy === "local") return { policy_id: draft.policyId };
  if (draft.policy === "openai") {
    return { model: draft.model.trim(), ...(draft.url.trim() === "" ? {} : { base_url: draft.url.trim() }) };
  }
  return {};
}
