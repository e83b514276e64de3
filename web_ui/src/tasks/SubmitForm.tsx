/** Asks for a task to be worked. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";

import { answer, api, ApiError } from "../api/client";
import { catalogQuery, policyChoicesQuery } from "../api/queries";
import { Trouble } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { PolicyOptions } from "../parts/PolicyOptions";
import { Preview } from "./Preview";
import { check, DRAFT, submission, type Draft, type DraftErrors } from "./submission";

export function SubmitForm({ taskId, onTask }: { taskId: string; onTask: (id: string) => void }) {
  const [draft, setDraft] = useState<Draft>({ ...DRAFT, taskId });
  const [errors, setErrors] = useState<DraftErrors>({});
  const [chosen, setChosen] = useState(taskId);
  if (chosen !== taskId) {
    // in the catalog, or by leaving the field; the form stays, or the click that left the field would be lost
    setChosen(taskId);
    setDraft((now) => ({ ...now, taskId }));
    setErrors({});
  }
  const client = useQueryClient();
  const catalog = useQuery(catalogQuery);
  const list = useId();
  const send = useMutation({
    mutationFn: (wanted: Draft) => answer(api.POST("/v1/tasks", { body: submission(wanted, Date.now()) })),
    onSuccess: () => client.invalidateQueries({ queryKey: ["tasks"] }),
  });
  const set = (part: Partial<Draft>) => {
    setDraft((now) => ({ ...now, ...part }));
    setErrors({});
    send.reset();
  };
  const submit = () => {
    const task = catalog.data?.find((one) => one.id === draft.taskId.trim());
    const found = check(draft, task);
    setErrors(found);
    if (Object.keys(found).length === 0) send.mutate(draft);
  };
  const about = send.variables?.taskId === draft.taskId;
  const refused = about ? send.error : null;
  const suggestions = refused instanceof ApiError ? refused.suggestions : [];
  return (
    <Panel title="Submit a task">
      <form
        noValidate
        className="flex flex-col gap-3 p-3"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <div className="grid grid-cols-6 gap-3">
          <Field label="Task" error={errors.taskId} className="col-span-6 sm:col-span-3">
            {(ids) => (
              <input
                {...ids}
                className="field"
                list={list}
                spellCheck={false}
                autoComplete="off"
                value={draft.taskId}
                onChange={(event) => set({ taskId: event.target.value })}
                onBlur={() => {
                  if (
                    draft.taskId !== "" &&
                    draft.taskId !== taskId &&
                    catalog.data?.some((task) => task.id === draft.taskId)
                  )
                    onTask(draft.taskId);
                }}
              />
            )}
          </Field>
          <datalist id={list}>
            {catalog.data?.map((task) => (
              <option key={task.id} value={task.id} />
            ))}
          </datalist>
          <Field label="Seed" error={errors.seed} className="col-span-3 sm:col-span-1">
            {(ids) => (
              <input
                {...ids}
                className="field"
                inputMode="numeric"
                value={draft.seed}
                onChange={(event) => set({ seed: event.target.value })}
              />
            )}
          </Field>
          <Field label="Policy" error={errors.policy} className="col-span-3 sm:col-span-2">
            {(ids) => (
              <select
                {...ids}
                className="field"
                value={draft.policy}
                onChange={(event) => set({ policy: event.target.value })}
              >
                <option value="scripted">Scripted oracle</option>
                <option value="local">Local model</option>
                <option value="openai">Endpoint</option>
                <option value="person">A person, in Annotate</option>
              </select>
            )}
          </Field>
          {draft.policy === "local" ? <KeptPolicy draft={draft} set={set} error={errors.policyId} /> : null}
          {draft.policy === "openai" ? (
            <>
              <Field label="Model" error={errors.model} className="col-span-6 sm:col-span-2">
                {(ids) => (
                  <input
                    {...ids}
                    className="field"
                    value={draft.model}
                    onChange={(event) => set({ model: event.target.value })}
                  />
                )}
              </Field>
              <Field label="Address" error={errors.url} className="col-span-6 sm:col-span-4">
                {(ids) => (
                  <input
                    {...ids}
                    className="field"
                    type="url"
                    placeholder="OpenAI's own when empty"
                    value={draft.url}
                    onChange={(event) => set({ url: event.target.value })}
                  />
                )}
              </Field>
            </>
          ) : null}
        </div>
        <Further draft={draft} set={set} errors={errors} />
        <Trouble error={refused} />
        {suggestions.length > 0 ? (
          <p className="flex flex-wrap gap-2">
            {suggestions.map((name) => (
              <button key={name} type="button" className="button h-7" onClick={() => set({ taskId: name })}>
                {name}
              </button>
            ))}
          </p>
        ) : null}
        <div className="flex items-center gap-3">
          <button type="submit" className="button button-main" disabled={send.isPending}>
            {send.isPending ? "Submitting…" : "Submit"}
          </button>
          {about && send.isSuccess ? (
            <p role="status" className="text-good">
              Queued.
            </p>
          ) : null}
        </div>
      </form>
      <Preview key={`${draft.taskId} ${draft.seed}`} taskId={draft.taskId} seed={draft.seed} />
    </Panel>
  );
}

function KeptPolicy({
  draft,
  set,
  error,
}: {
  draft: Draft;
  set: (part: Partial<Draft>) => void;
  error: string | undefined;
}) {
  const policies = useQuery(policyChoicesQuery);
  return (
    <div className="col-span-6 flex min-w-0 flex-col gap-1">
      <Field label="Kept policy" error={error} className="">
        {(ids) => (
          <select
            {...ids}
            className="field"
            value={draft.policyId}
            onChange={(event) => set({ policyId: event.target.value })}
          >
            <option value="">Choose one</option>
            <PolicyOptions policies={policies.data} shipped />
          </select>
        )}
      </Field>
      <Trouble error={policies.error} again={() => void policies.refetch()} />
    </div>
  );
}

const FURTHER = [
  { part: "priority", label: "Priority", hint: "-100 to 100", wide: "sm:col-span-2" },
  { part: "within", label: "Over within (min)", hint: "no deadline", wide: "sm:col-span-2" },
  { part: "review", label: "Seconds to review each action", hint: "nobody is asked", wide: "sm:col-span-2" },
  { part: "labels", label: "Labels", hint: "batch=nightly, team=web", wide: "" },
] as const;

/** What most tasks go without; opened where something of it is wrong, and left open while that is mended. */
function Further({
  draft,
  set,
  errors,
}: {
  draft: Draft;
  set: (part: Partial<Draft>) => void;
  errors: DraftErrors;
}) {
  const [open, setOpen] = useState(false);
  const wrong = FURTHER.some(({ part }) => errors[part] !== undefined);
  return (
    <details open={open || wrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer text-muted">Priority, deadline, review, labels</summary>
      <div className="mt-2 grid grid-cols-6 gap-3">
        {FURTHER.map(({ part, label, hint, wide }) => (
          <Field key={part} label={label} error={errors[part]} className={`col-span-6 ${wide}`}>
            {(ids) => (
              <input
                {...ids}
                className="field"
                spellCheck={false}
                autoComplete="off"
                placeholder={part === "review" && draft.policy === "person" ? "300" : hint}
                value={draft[part]}
                onChange={(event) => set({ [part]: event.target.value })}
              />
            )}
          </Field>
        ))}
      </div>
    </details>
  );
}

interface FieldIds {
  id: string;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
}

function Field({
  label,
  error,
  className,
  children,
}: {
  label: string;
  error?: string | undefined;
  className: string;
  children: (ids: FieldIds) => ReactNode;
}) {
  const id = useId();
  return (
    <div className={`flex min-w-0 flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="label">
        {label}
      </label>
      {children({
        id,
        "aria-invalid": error !== undefined,
        "aria-describedby": error ? `${id}-error` : undefined,
      })}
      {error ? (
        <p id={`${id}-error`} role="alert" className="text-xs text-bad">
          {error}
        </p>
      ) : null}
    </div>
  );
}
