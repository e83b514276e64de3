/** Submitted tasks: waiting, under way, over. */

import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { over, tasksQuery } from "../api/queries";
import type { SubmittedTask, WorkState } from "../api/words";
import { Ago, Lasted } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Confirm } from "../parts/Dialog";
import { More } from "../parts/More";
import { Empty, Failed, Loading, Trouble } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { PolicyName } from "../parts/PolicyName";
import { StateMark } from "../parts/StateMark";
import { LiveLink } from "../sandboxes/LiveLink";
import { May } from "../shell/May";
import { STATES } from "./search";

const column = columnsOf<SubmittedTask>();
const columns = column.columns([
  column.display({
    id: "state",
    header: "State",
    meta: { className: "sm:w-28" },
    cell: ({ row }) => <StateMark state={row.original.state} bare="on phones" />,
  }),
  column.display({
    id: "task",
    header: "Task",
    cell: ({ row: { original: task } }) => (
      <span className="flex min-w-0 flex-col">
        {task.trajectory_id ? (
          <Link
            className="link font-medium"
            to="/trajectories/$id"
            params={{ id: task.trajectory_id }}
            search={over(task.state) ? {} : { step: "end" }}
          >
            {task.task_id}
          </Link>
        ) : (
          <span className="font-medium">{task.task_id}</span>
        )}
        {task.trajectory_id && task.state === "running" ? (
          <span className="text-xs">
            <LiveLink trajectory={task.trajectory_id} />
          </span>
        ) : null}
        {task.reason ? <span className="text-xs wrap-anywhere text-muted">{task.reason}</span> : null}
      </span>
    ),
  }),
  column.accessor("seed", { header: "Seed", meta: { className: "text-right max-sm:hidden" } }),
  column.display({
    id: "policy",
    header: "Policy",
    meta: { className: "max-sm:hidden" },
    cell: ({ row: { original: task } }) => {
      const { policy_id: kept } = task.policy.settings;
      return typeof kept === "string" ? <PolicyName id={kept} /> : task.policy.name;
    },
  }),
  column.display({
    id: "outcome",
    header: "Outcome",
    cell: ({ row: { original: task } }) =>
      task.outcome === null ? (
        <span className="text-faint">–</span>
      ) : (
        <span className={task.outcome.success ? "text-good" : "text-bad"} title={task.outcome.detail}>
          {task.outcome.success ? "success" : "failure"}
        </span>
      ),
  }),
  column.display({
    id: "took",
    header: "Took",
    meta: { className: "text-right max-md:hidden whitespace-nowrap" },
    cell: ({ row }) => <Lasted startS={row.original.started_at_s} endS={row.original.ended_at_s} />,
  }),
  column.display({
    id: "asked",
    header: "Asked",
    meta: { className: "text-right text-muted whitespace-nowrap max-sm:hidden" },
    cell: ({ row }) => <Ago atS={row.original.created_at_s} />,
  }),
  column.display({
    id: "act",
    header: () => <span className="sr-only">Cancel or try again</span>,
    meta: { className: "w-10 text-right" },
    cell: ({ row: { original: task } }) =>
      task.state === "done" ? null : (
        <May scope="tasks:write">{over(task.state) ? <RetryTask task={task} /> : <CancelTask task={task} />}</May>
      ),
  }),
]);

export function Queue({
  state,
  onState,
}: {
  state: WorkState | undefined;
  onState: (state: WorkState | undefined) => void;
}) {
  const list = useInfiniteQuery(tasksQuery(state));
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel
      title="Queue"
      beside={
        <select
          aria-label="State"
          className="field h-7 w-32"
          value={state ?? ""}
          onChange={(event) => onState(STATES.find((known) => known === event.target.value))}
        >
          <option value="">All states</option>
          {STATES.map((known) => (
            <option key={known}>{known}</option>
          ))}
        </select>
      }
    >
      {list.isError && rows.length === 0 ? (
        <Failed error={list.error} again={() => void list.refetch()} />
      ) : list.isPending ? (
        <Loading rows={5} label="Loading the queue" />
      ) : rows.length === 0 ? (
        <Empty title={state ? `No task is ${state}` : "Nothing was submitted yet"}>
          {state ? null : (
            <May scope="tasks:write">
              Choose a task of the catalog and submit it; its episode can be watched from here.
            </May>
          )}
        </Empty>
      ) : (
        <>
          <DataTable label="Queue" columns={columns} rows={rows} rowId={(row) => row.id} />
          <More
            key={state}
            more={list.hasNextPage}
            onMore={() => list.fetchNextPage({ throwOnError: true })}
          />
        </>
      )}
    </Panel>
  );
}

function CancelTask({ task }: { task: SubmittedTask }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => answer(api.DELETE("/v1/tasks/{id}", { params: { path: { id: task.id } } })),
    onSuccess: () => setAsking(false),
    onSettled: () => client.invalidateQueries({ queryKey: ["tasks"] }),
  });
  return (
    <>
      <button
        type="button"
        className="button button-bare h-7"
        aria-label={`Cancel ${task.task_id}, seed ${task.seed}`}
        title="Cancel"
        disabled={cancel.isPending}
        onClick={() => setAsking(true)}
      >
        ✕
      </button>
      <Confirm
        open={asking}
        onOpen={setAsking}
        title={`Cancel ${task.task_id}, seed ${task.seed}?`}
        text="It leaves the queue; where it runs, it stops, and the steps it has taken stay. It can be tried again."
        action={cancel.isPending ? "Cancelling…" : "Cancel the task"}
        keep="Keep it"
        busy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
      />
    </>
  );
}

function RetryTask({ task }: { task: SubmittedTask }) {
  const client = useQueryClient();
  const retry = useMutation({
    mutationFn: () => answer(api.POST("/v1/tasks/{id}/retry", { params: { path: { id: task.id } } })),
    onSettled: () => client.invalidateQueries({ queryKey: ["tasks"] }),
  });
  return (
    <>
      <button
        type="button"
        className="button button-bare h-7"
        aria-label={`Try ${task.task_id}, seed ${task.seed}, again`}
        title="Try again"
        disabled={retry.isPending}
        onClick={() => retry.mutate()}
      >
        ↻
      </button>
      <Trouble error={retry.error} />
    </>
  );
}
