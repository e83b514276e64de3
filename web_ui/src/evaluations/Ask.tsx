/** Asks for a policy to be measured. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "../api/client";
import { policyChoicesQuery } from "../api/queries";
import { counted } from "../format/numbers";
import { Trouble } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { PolicyOptions } from "../parts/PolicyOptions";
import { ChosenTasks } from "./ChosenTasks";
import { DeleteSuite } from "./DeleteSuite";
import { evaluationsQuery, suitesQuery } from "./queries";
import { gathered } from "./suites";

/** No suite has a name with a space. */
const CHOSEN = "chosen tasks";
const MODES = {
  sampled: ["sampled"],
  greedy: ["greedy"],
  both: ["sampled", "greedy"],
} as const;

export function Ask() {
  const [policy, setPolicy] = useState("");
  const [suite, setSuite] = useState("");
  const [picked, setPicked] = useState<string[]>([]);
  const [draft, setDraft] = useState("");
  const [mode, setMode] = useState<keyof typeof MODES>("sampled");
  const [episodes, setEpisodes] = useState("32");
  const policies = useQuery(policyChoicesQuery);
  const suites = useQuery(suitesQuery);
  const client = useQueryClient();
  const chosen = suite || (suites.data?.[0]?.name ?? "");
  const named = suites.data?.find((one) => one.name === chosen);
  const tasks = chosen === CHOSEN ? gathered(picked, draft) : (named?.tasks ?? []);
  const ask = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/v1/evaluations", {
          body: {
            policy_id: policy || null,
            tasks,
            episodes: Number(episodes),
            modes: [...MODES[policy === "" ? "sampled" : mode]],
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
        <div className="col-span-2 flex min-w-0 flex-col gap-1">
          <label className="flex min-w-0 flex-col gap-1">
            <span className="label">Policy</span>
            <select className="field" value={policy} onChange={(event) => setPolicy(event.target.value)}>
              <option value="">Scripted oracle</option>
              <PolicyOptions policies={policies.data} shipped />
            </select>
          </label>
          <Trouble error={policies.error} again={() => void policies.refetch()} />
        </div>
        <div className="col-span-2 flex min-w-0 flex-col gap-1">
          <label className="flex min-w-0 flex-col gap-1">
            <span className="label">Suite</span>
            <select className="field" value={chosen} onChange={(event) => setSuite(event.target.value)}>
              {chosen === "" ? <option value="">{suites.isError ? "None known" : "Loading…"}</option> : null}
              {suites.data?.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name}, {counted(one.tasks.length, "task")}
                </option>
              ))}
              <option value={CHOSEN}>{CHOSEN}</option>
            </select>
          </label>
          <Trouble error={suites.error} again={() => void suites.refetch()} />
        </div>
        {chosen === CHOSEN ? (
          <ChosenTasks
            tasks={picked}
            draft={draft}
            suites={suites.data ?? []}
            onTasks={setPicked}
            onDraft={setDraft}
            onKept={setSuite}
          />
        ) : null}
        <label className="flex min-w-0 flex-col gap-1 max-sm:col-span-2">
          <span className="label">Replies</span>
          <select
            className="field"
            value={policy === "" ? "sampled" : mode}
            disabled={policy === ""}
            title={policy === "" ? "The oracle follows its script" : undefined}
            onChange={(event) => setMode(event.target.value as keyof typeof MODES)}
          >
            <option value="sampled">Sampled, as in training</option>
            <option value="greedy">Greedy, the likeliest</option>
            <option value="both">Both</option>
          </select>
        </label>
        <label className="flex min-w-0 flex-col gap-1 max-sm:col-span-2">
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
        <div className="col-span-2 flex flex-wrap items-center gap-3">
          <button type="submit" className="button button-main" disabled={ask.isPending || tasks.length === 0}>
            {ask.isPending ? "Asking…" : "Measure"}
          </button>
          {named ? (
            <button
              type="button"
              className="button"
              onClick={() => {
                setPicked(named.tasks);
                setSuite(CHOSEN);
              }}
            >
              Change the tasks
            </button>
          ) : null}
          {named?.own ? <DeleteSuite key={named.name} name={named.name} onDeleted={() => setSuite("")} /> : null}
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
