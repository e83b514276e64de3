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
}

export type DraftErrors = Partial<Record<keyof Draft, string>>;

/** What is wrong with it; `oracle`: whether its task has a scripted oracle, as far as is known. */
export function check(draft: Draft, oracle?: boolean): DraftErrors {
  const errors: DraftErrors = {};
  if (draft.taskId.trim() === "") errors.taskId = "Choose a task.";
  if (!/^\d{1,15}$/.test(draft.seed.trim())) errors.seed = "A seed is a whole number from 0.";
  if (draft.policy === "scripted" && oracle === false)
    errors.policy = "Nobody wrote an oracle for this task; choose a policy that looks for itself.";
  if (draft.policy === "openai" && draft.url !== "" && !/^https?:\/\//.test(draft.url.trim())) {
    errors.url = "An address begins with http:// or https://.";
  }
  if (draft.policy === "openai" && draft.model.trim() === "")
    errors.model = "Name the model the endpoint serves.";
  if (draft.policy === "local" && draft.policyId === "")
    errors.policyId = "Choose a policy.";
  return errors;
}

/** Machines that boot take long: they are set up for a look only when somebody asks. */
const SLOW_KINDS: readonly string[] = ["vm", "android"];

/** Whether a task is shown without being asked for. */
export function comesAlone(task: Pick<CatalogTask, "kind"> | undefined): boolean {
  return task !== undefined && !SLOW_KINDS.includes(task.kind);
}

export function submission(draft: Draft): TaskSubmission {
  return {
    task_id: draft.taskId.trim(),
    seed: Number(draft.seed.trim()),
    policy: { name: draft.policy, settings: settings(draft) },
    labels: {},
    priority: 0,
  };
}

function settings(draft: Draft): Record<string, string> {
  if (draft.policy === "local") return { policy_id: draft.policyId };
  if (draft.policy === "openai") {
    return { model: draft.model.trim(), ...(draft.url.trim() === "" ? {} : { base_url: draft.url.trim() }) };
  }
  return {};
}
