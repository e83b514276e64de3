/** Asks for a policy to be measured. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "../api/client";
import { catalogQuery, policiesQuery } from "../api/queries";
import { Trouble } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { evaluationsQuery, suitesQuery } from "./queries";

const ONE = "one task";

export function Ask() {
  const [policy, setPolicy] = useState("");
  const [suite, setSuite] = useState("");
  const [task, setTask] = useState("");
  const [episodes, setEpisodes] = useState("32");
  const policies = useQuery(policiesQuery);
  const suites = useQuery(suitesQuery);
  const catalog = useQuery(catalogQuery);
  const client = useQueryClient();
  const chosen = suite || (suites.data?.[0]?.name ?? "");
  const tasks =
    chosen === ONE ? [task.trim()] : (suites.data?.find((one) => one.name === chosen)?.tasks ?? []);
  const ask = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/v1/evaluations", {
          body: {
            policy_id: policy || null,
            tasks,
            episodes: Number(episodes),
            modes: ["sampled"],
            split: "test",
          },
        }),
      ),
    onSettled: () => client.invalidateQueries({ queryKey: evaluationsQuery.queryKey }),
  });
  return (
    <Panel title="Measure a policy">
      <form
        className="grid grid-cols-2 gap-3 p-3"
        onSubmit={(event) => {
          event.preventDefault();
          ask.mutate();
        }}
      >
        <label className="col-span-2 flex min-w-0 flex-col gap-1">
          <span className="label">Policy</span>
          <select className="field" value={policy} onChange={(event) => setPolicy(event.target.value)}>
            <option value="">Scripted oracle</option>
            <option value="deskhand-tiny">deskhand-tiny, the model that comes with Deskhand</option>
            {policies.data?.map((one) => (
              <option key={one.id} value={one.id}>
                {one.id}
                {one.promoted ? " (promoted)" : ""}
              </option>
            ))}
          </select>
        </label>
        <label className="flex min-w-0 flex-col gap-1">
          <span className="label">Suite</span>
          <select className="field" value={chosen} onChange={(event) => setSuite(event.target.value)}>
            {suites.data?.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}, {one.tasks.length} {one.tasks.length === 1 ? "task" : "tasks"}
              </option>
            ))}
            <option value={ONE}>{ONE}</option>
          </select>
        </label>
        <label className="flex min-w-0 flex-col gap-1">
          <span className="label">Episodes of each task</span>
          <input
            className="field"
            type="number"
            min={1}
            max={10000}
            required
            value={episodes}
            onChange={(event) => setEpisodes(event.target.value)}
          />
        </label>
        {chosen === ONE ? (
          <label className="col-span-2 flex min-w-0 flex-col gap-1">
            <span className="label">Task</span>
            <input
              className="field"
              list="measured-tasks"
              required
              spellCheck={false}
              value={task}
              onChange={(event) => setTask(event.target.value)}
            />
            <datalist id="measured-tasks">
              {catalog.data?.map((one) => (
                <option key={one.id} value={one.id} />
              ))}
            </datalist>
          </label>
        ) : null}
        <div className="col-span-2 flex items-center gap-3">
          <button type="submit" className="button button-main" disabled={ask.isPending || tasks.length === 0}>
            {ask.isPending ? "Asking…" : "Measure"}
          </button>
          {ask.isSuccess ? (
            <p role="status" className="text-good">
              Queued.
            </p>
          ) : null}
        </div>
        <div className="col-span-2">
          <Trouble error={ask.error} />
        </div>
      </form>
    </Panel>
  );
}
