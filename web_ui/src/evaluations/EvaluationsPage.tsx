/** Success of policies on suites of tasks: ask for it, read it, and see what got worse. */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "../api/client";
import { over } from "../api/queries";
import type { Evaluation, Suite } from "../api/words";
import { count } from "../format/numbers";
import { Ago } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Confirm } from "../parts/Dialog";
import { More } from "../parts/More";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { Told, usePolicyNames } from "../parts/PolicyName";
import { StateMark } from "../parts/StateMark";
import { RateBar } from "../rounds/RateBar";
import { May } from "../shell/May";
import { TaskTabs } from "../tasks/TaskTabs";
import { Ask } from "./Ask";
import { ByTask } from "./ByTask";
import { evaluationsQuery, suitesQuery } from "./queries";
import { Regressions } from "./Regressions";
import { suiteWith } from "./suites";

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
        <span className="font-medium break-all">
          <Measurand evaluation={original} />
        </span>
        <span className="text-xs text-muted" title={original.tasks.join("\n")}>
          <SuiteOf evaluation={original} />
          {original.round === null ? "" : `, round ${original.round}`}
        </span>
        {original.reason ? (
          <span className="text-xs break-words text-muted">
            <Told text={original.reason} />
          </span>
        ) : null}
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
          <ByTask evaluation={original} />
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

function policyOf(one: Evaluation, names: ReadonlyMap<string, string>): string {
  if (one.policy_id === null) return one.scripted ? "scripted oracle" : "random weights";
  return names.get(one.policy_id) ?? one.policy_id;
}

function Measurand({ evaluation }: { evaluation: Evaluation }) {
  return <span title={evaluation.policy_id ?? undefined}>{policyOf(evaluation, usePolicyNames())}</span>;
}

function suiteOf(one: Evaluation, suites: readonly Suite[] = []): string {
  const tasks = one.tasks.length === 1 ? one.tasks[0] : `${one.tasks.length} tasks`;
  const suite = one.tasks.length === 1 ? null : suiteWith(one.tasks, suites);
  return `${suite ? `${suite.name}, ` : ""}${tasks}, ${one.split} seeds`;
}

function SuiteOf({ evaluation }: { evaluation: Evaluation }) {
  const suites = useQuery(suitesQuery);
  return <>{suiteOf(evaluation, suites.data)}</>;
}

function Measured() {
  const list = useInfiniteQuery(evaluationsQuery);
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel title="Measured">
      {list.isError && rows.length === 0 ? (
        <Failed error={list.error} again={() => void list.refetch()} />
      ) : list.isPending ? (
        <Loading label="Loading evaluations" />
      ) : rows.length === 0 ? (
        <Empty title="Nothing was measured yet">
          Rounds measure their policies<May scope="datasets:write">; so does the form beside this</May>.
        </Empty>
      ) : (
        <>
          <DataTable label="Evaluations" columns={columns} rows={rows} rowId={(one) => one.id} />
          <More more={list.hasNextPage} onMore={() => list.fetchNextPage({ throwOnError: true })} />
        </>
      )}
    </Panel>
  );
}

function Cancel({ evaluation }: { evaluation: Evaluation }) {
  const [asking, setAsking] = useState(false);
  const policy = policyOf(evaluation, usePolicyNames());
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
        aria-label={`Cancel the evaluation of ${policy}`}
        onClick={() => setAsking(true)}
      >
        ✕
      </button>
      <Confirm
        open={asking}
        onOpen={setAsking}
        title="Cancel this evaluation?"
        text={`${policy} on ${suiteOf(evaluation)}. Episodes already played stay in the store.`}
        action="Cancel it"
        keep="Keep it"
        busy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
      />
    </>
  );
}
