/** Success of policies on suites of tasks: ask for it, read it, and see what got worse. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { over, policiesQuery } from "../api/queries";
import type { Comparison, Evaluation } from "../api/words";
import { count, percent } from "../format/numbers";
import { Ago } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Confirm } from "../parts/Dialog";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { StateMark } from "../parts/StateMark";
import { RateBar } from "../rounds/RateBar";
import { May } from "../shell/May";
import { TaskTabs } from "../tasks/TaskTabs";
import { Ask } from "./Ask";
import { comparisonQuery, evaluationsQuery } from "./queries";

const route = getRouteApi("/tasks/evaluations");

export function EvaluationsPage() {
  return (
    <Page title="Evaluations" actions={<TaskTabs />}>
      <div className="grid items-start gap-3 lg:grid-cols-[minmax(0,5fr)_minmax(0,7fr)]">
        <div className="flex min-w-0 flex-col gap-3">
          <May scope="datasets:write">
            <Ask />
          </May>
          <Regressions />
        </div>
        <Measured />
      </div>
    </Page>
  );
}

const column = columnsOf<Evaluation>();
const columns = column.columns([
  column.display({
    id: "state",
    header: "State",
    meta: { className: "sm:w-28" },
    cell: ({ row: { original } }) => (
      <span title={original.reason ?? undefined}>
        <StateMark state={original.state} bare="on phones" />
      </span>
    ),
  }),
  column.display({
    id: "policy",
    header: "Policy",
    cell: ({ row: { original } }) => (
      <span className="flex min-w-0 flex-col">
        <span className="font-medium break-all">{policyOf(original)}</span>
        <span className="text-xs text-muted" title={original.tasks.join("\n")}>
          {suiteOf(original)}
          {original.round === null ? "" : `, round ${original.round}`}
        </span>
        {original.reason ? <span className="text-xs break-words text-muted">{original.reason}</span> : null}
      </span>
    ),
  }),
  column.display({
    id: "rate",
    header: "Success",
    cell: ({ row: { original } }) =>
      original.rows.length > 0 ? (
        <span className="flex flex-col gap-1">
          {original.rows
            .filter((row) => row.task === "all" || original.tasks.length === 1)
            .map((row) => (
              <span key={row.mode} className="flex items-center gap-2 max-sm:flex-col max-sm:items-end">
                <span className="w-16 text-xs text-muted">{row.mode}</span>
                <RateBar rate={row} compact />
              </span>
            ))}
        </span>
      ) : original.total > 0 && !over(original.state) ? (
        <span className="text-muted">
          {count(original.done)} of {count(original.total)} episodes
        </span>
      ) : (
        <span className="text-faint">–</span>
      ),
  }),
  column.display({
    id: "asked",
    header: "When",
    meta: { className: "text-right text-muted whitespace-nowrap max-sm:hidden" },
    cell: ({ row: { original } }) => <Ago atS={original.ended_at_s ?? original.asked_at_s} />,
  }),
  column.display({
    id: "cancel",
    header: () => <span className="sr-only">Cancel</span>,
    meta: { className: "w-10 text-right" },
    cell: ({ row: { original } }) =>
      over(original.state) || original.round !== null ? null : (
        <May scope="datasets:write">
          <Cancel evaluation={original} />
        </May>
      ),
  }),
]);

function policyOf(one: Evaluation): string {
  return one.policy_id ?? (one.scripted ? "scripted oracle" : "random weights");
}

function suiteOf(one: Evaluation): string {
  const [first, ...others] = one.tasks;
  return `${others.length === 0 ? first : `${one.tasks.length} tasks`}, ${one.split} seeds`;
}

function Measured() {
  const list = useQuery(evaluationsQuery);
  return (
    <Panel title="Measured">
      {list.isError ? (
        <Failed error={list.error} again={() => void list.refetch()} />
      ) : list.isPending ? (
        <Loading label="Loading evaluations" />
      ) : list.data.length === 0 ? (
        <Empty title="Nothing was measured yet">
          Rounds measure their policies<May scope="datasets:write">; so does the form beside this</May>.
        </Empty>
      ) : (
        <DataTable label="Evaluations" columns={columns} rows={list.data} rowId={(one) => one.id} />
      )}
    </Panel>
  );
}

function Cancel({ evaluation }: { evaluation: Evaluation }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () =>
      answer(api.POST("/v1/evaluations/{id}/cancel", { params: { path: { id: evaluation.id } } })),
    onSuccess: () => setAsking(false),
    onSettled: () => client.invalidateQueries({ queryKey: evaluationsQuery.queryKey }),
  });
  return (
    <>
      <button
        type="button"
        className="button button-bare h-7"
        aria-label={`Cancel the evaluation of ${policyOf(evaluation)}`}
        onClick={() => setAsking(true)}
      >
        ✕
      </button>
      <Confirm
        open={asking}
        onOpen={setAsking}
        title="Cancel this evaluation?"
        text={`${policyOf(evaluation)} on ${suiteOf(evaluation)}. Episodes already played stay in the store.`}
        action="Cancel it"
        keep="Keep it"
        busy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
      />
    </>
  );
}

const VERDICTS = {
  worse: { sign: "▼", colour: "text-bad" },
  better: { sign: "▲", colour: "text-good" },
  unclear: { sign: "≈", colour: "text-muted" },
} as const;

function points(share: number): string {
  return `${share > 0 ? "+" : ""}${(share * 100).toFixed(0)}`;
}

const compared = columnsOf<Comparison>();
const comparedColumns = compared.columns([
  compared.display({
    id: "verdict",
    header: "Verdict",
    cell: ({ row }) => {
      const { sign, colour } = VERDICTS[row.original.verdict];
      return (
        <span className={`font-medium whitespace-nowrap ${colour}`}>
          <span aria-hidden>{sign}</span> {row.original.verdict}
        </span>
      );
    },
  }),
  compared.display({
    id: "task",
    header: "Task",
    cell: ({ row: { original } }) => (
      <>
        <span className="break-words">
          {original.task.startsWith("all: ") ? "all together" : original.task}
        </span>{" "}
        <span className="text-xs text-muted">
          {original.mode}, {original.split}
        </span>
      </>
    ),
  }),
  compared.accessor((row) => `${percent(row.old.success, 0)} → ${percent(row.new.success, 0)}`, {
    id: "rates",
    header: "Success",
    meta: { className: "text-right whitespace-nowrap" },
  }),
  compared.display({
    id: "difference",
    header: "Difference",
    meta: { className: "text-right whitespace-nowrap text-muted max-sm:hidden" },
    cell: ({ row: { original } }) => `${points(original.low)} to ${points(original.high)} points`,
  }),
]);

function Regressions() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const policies = useQuery(policiesQuery);
  const found = useQuery(comparisonQuery(search));
  const both = Boolean(search.old && search.new);
  return (
    <Panel title="What got worse">
      <div className="grid grid-cols-2 gap-3 p-3">
        {(["old", "new"] as const).map((side) => (
          <label key={side} className="flex min-w-0 flex-col gap-1">
            <span className="label">{side === "old" ? "Old policy" : "New policy"}</span>
            <select
              className="field"
              value={search[side] ?? ""}
              onChange={(event) =>
                void navigate({
                  search: { ...search, [side]: event.target.value || undefined },
                  replace: true,
                })
              }
            >
              <option value="">{policies.data?.length === 0 ? "None kept yet" : "Choose one"}</option>
              {policies.data?.map((policy) => (
                <option key={policy.id} value={policy.id}>
                  {policy.id}
                  {policy.promoted ? " (promoted)" : ""}
                </option>
              ))}
            </select>
          </label>
        ))}
      </div>
      {!both ? null : found.isError ? (
        <Failed error={found.error} again={() => void found.refetch()} />
      ) : found.isPending ? (
        <Loading rows={3} label="Comparing" />
      ) : found.data.length === 0 ? (
        <p className="px-3 pb-4 text-muted">No task was measured with both. Measure them on one suite.</p>
      ) : (
        <DataTable
          label="What got worse"
          columns={comparedColumns}
          rows={found.data}
          rowId={(one) => `${one.task} ${one.mode} ${one.split}`}
        />
      )}
    </Panel>
  );
}
