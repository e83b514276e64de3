/** Tasks put together by hand, which can be kept as a suite. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "../api/client";
import { catalogQuery } from "../api/queries";
import type { Suite } from "../api/words";
import { FormDialog } from "../parts/FormDialog";
import { Trouble } from "../parts/Notice";
import { suitesQuery } from "./queries";
import { badName, gathered } from "./suites";

export function ChosenTasks({
  tasks,
  draft,
  suites,
  onTasks,
  onDraft,
  onKept,
}: {
  tasks: readonly string[];
  /** What stands in the field. */
  draft: string;
  suites: readonly Suite[];
  onTasks: (tasks: string[]) => void;
  onDraft: (draft: string) => void;
  onKept: (name: string) => void;
}) {
  const catalog = useQuery(catalogQuery);
  const [naming, setNaming] = useState(false);
  const add = () => {
    onTasks(gathered(tasks, draft));
    onDraft("");
  };
  const all = gathered(tasks, draft);
  return (
    <div className="col-span-2 flex min-w-0 flex-col gap-2">
      <label className="flex min-w-0 flex-col gap-1">
        <span className="label">Task</span>
        <input
          className="field"
          list="measured-tasks"
          required={tasks.length === 0}
          spellCheck={false}
          autoComplete="off"
          value={draft}
          onChange={(event) => onDraft(event.target.value)}
        />
        <datalist id="measured-tasks">
          {catalog.data?.map((one) => (
            <option key={one.id} value={one.id} />
          ))}
        </datalist>
      </label>
      <Trouble error={catalog.error} again={() => void catalog.refetch()} />
      {tasks.length === 0 ? null : (
        <ul aria-label="Chosen tasks" className="flex max-h-40 flex-wrap gap-1.5 overflow-y-auto">
          {tasks.map((task) => (
            <li key={task}>
              <button
                type="button"
                className="button h-7 wrap-anywhere"
                aria-label={`Leave out ${task}`}
                onClick={() => onTasks(tasks.filter((one) => one !== task))}
              >
                {task} <span aria-hidden>✕</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="flex flex-wrap gap-2">
        <button type="button" className="button" disabled={draft.trim() === ""} onClick={add}>
          Add another task
        </button>
        <button type="button" className="button" disabled={all.length === 0} onClick={() => setNaming(true)}>
          Keep as a suite
        </button>
      </div>
      <NameSuite
        open={naming}
        onOpen={setNaming}
        tasks={all}
        suites={suites}
        onKept={(name) => {
          setNaming(false);
          onDraft("");
          onTasks([]);
          onKept(name);
        }}
      />
    </div>
  );
}

function NameSuite({
  open,
  onOpen,
  tasks,
  suites,
  onKept,
}: {
  open: boolean;
  onOpen: (open: boolean) => void;
  tasks: string[];
  suites: readonly Suite[];
  onKept: (name: string) => void;
}) {
  const [name, setName] = useState("");
  const client = useQueryClient();
  const keep = useMutation({
    mutationFn: () =>
      answer(api.PUT("/v1/evaluations/suites/{name}", { params: { path: { name } }, body: { tasks } })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: suitesQuery.queryKey });
      onKept(name);
      setName("");
    },
  });
  const wrong = badName(name, suites);
  const replaces = suites.some((one) => one.own && one.name === name);
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Keep as a suite"
      action={replaces ? "Replace it" : "Keep"}
      busy={keep.isPending}
      ready={wrong === null}
      error={keep.error}
      onSubmit={() => keep.mutate()}
    >
      <label className="flex flex-col gap-1">
        <span className="label">Name</span>
        <input
          className="field"
          maxLength={64}
          spellCheck={false}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <p className="text-muted">
        {name !== "" && wrong !== null
          ? wrong
          : replaces
            ? "There is a suite of this name: its tasks are replaced for everybody."
            : `${tasks.length === 1 ? "One task" : `${tasks.length} tasks`}; everybody can measure policies on them.`}
      </p>
    </FormDialog>
  );
}
