/** What runs now, and how it goes. */

import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { AlarmList } from "../alarms/AlarmList";
import { answer, api } from "../api/client";
import { pause } from "../api/polling";
import type { Overview, Pool, RoundSummary, SubmittedTask } from "../api/words";
import { count, percent } from "../format/numbers";
import { span } from "../format/times";
import { useEvents, useNews } from "../live/useEvents";
import { Ago, Lasted } from "../parts/Ago";
import { Failed, Loading } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { PolicyName } from "../parts/PolicyName";
import { StateMark } from "../parts/StateMark";
import { RateBar } from "../rounds/RateBar";
import { May } from "../shell/May";

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => answer(api.GET("/v1/overview", { signal })),
  refetchInterval: ({ state }) => pause(state, 5000),
});

export function OverviewPage() {
  const overview = useQuery(overviewQuery);
  const client = useQueryClient();
  const round = overview.data?.round?.id;
  const { events } = useEvents(round === undefined ? ["platform"] : ["platform", `round:${round}`], true);
  useNews(events, () => {
    void client.invalidateQueries({ queryKey: overviewQuery.queryKey });
  });
  return (
    <Page title="Overview">
      {overview.data ? (
        <Board now={overview.data} />
      ) : overview.isError ? (
        <Failed error={overview.error} again={() => void overview.refetch()} />
      ) : (
        <Loading label="Loading the overview" />
      )}
    </Page>
  );
}

function Board({ now }: { now: Overview }) {
  return (
    <>
      <Figures now={now} />
      <div className="grid items-start gap-3 lg:grid-cols-2">
        <Panel title="Running now">
          <Running now={now} />
        </Panel>
        <section id="alarms" className="min-w-0">
          <Panel title="Alarms">
            <AlarmList alarms={now.alarms} />
          </Panel>
        </section>
        <Panel title="Last round">
          <LastRound round={now.last_round} />
        </Panel>
        <Panel title="Sandboxes">
          <Pools pools={now.pools} />
        </Panel>
      </div>
    </>
  );
}

function Figures({ now }: { now: Overview }) {
  const { ended, succeeded, broken, more } = now.recent;
  const leased = now.pools?.reduce((sum, pool) => sum + pool.leased, 0);
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
      <Figure name="Tasks running" value={count(now.tasks.running)} to="/tasks" />
      <Figure
        name="Tasks waiting"
        value={count(now.tasks.queued)}
        beside={now.oldest_wait_s === null ? "" : `the oldest for ${span(now.oldest_wait_s)}`}
        to="/tasks"
      />
      <Figure
        name="Episodes, last hour"
        value={more ? `${count(ended)}+` : count(ended)}
        beside={
          ended === 0 ? "" : `${percent(succeeded / ended, 0)} succeeded${broken ? `, ${broken} broken` : ""}`
        }
        to="/trajectories"
      />
      <Figure
        name="Sandboxes in use"
        value={count(leased)}
        beside={now.pools === null ? "host does not answer" : ""}
      />
    </dl>
  );
}

function Figure({
  name,
  value,
  beside = "",
  to,
}: {
  name: string;
  value: string;
  beside?: string;
  to?: "/tasks" | "/trajectories";
}) {
  return (
    <div className="panel relative flex min-w-0 flex-col px-3 py-2.5">
      <dt className="label">
        {to ? (
          <Link to={to} className="after:absolute after:inset-0 hover:underline">
            {name}
          </Link>
        ) : (
          name
        )}
      </dt>
      <dd className="mt-0.5 text-lg font-semibold">{value}</dd>
      <dd className="min-h-5 truncate text-xs text-muted">{beside}</dd>
    </div>
  );
}

function Running({ now }: { now: Overview }) {
  if (now.round === null && now.running.length === 0) {
    return (
      <p className="px-3 py-4 text-muted">
        Nothing.{" "}
        <May scope="tasks:write">
          <Link className="link" to="/tasks">
            Submit a task
          </Link>
          <May scope="rounds:write">
            {" "}
            or{" "}
            <Link className="link" to="/rounds/new">
              start a round
            </Link>
          </May>
          .
        </May>
      </p>
    );
  }
  return (
    <ul aria-label="Running now" className="divide-y divide-line">
      {now.round ? (
        <Line
          what={
            <Link className="link font-medium" to="/rounds/$id" params={{ id: String(now.round.id) }}>
              Round {now.round.id}, {now.round.preset}
            </Link>
          }
          since={now.round.started_at_s}
        />
      ) : null}
      {now.running.map((task) => (
        <Line key={task.id} what={<TaskLink task={task} />} since={task.started_at_s} />
      ))}
    </ul>
  );
}

function Line({ what, since }: { what: ReactNode; since: number | null }) {
  return (
    <li className="flex items-center gap-3 px-3 py-2">
      <StateMark state="running" bare />
      <span className="min-w-0 flex-1 truncate">{what}</span>
      <span className="whitespace-nowrap text-muted">
        <Lasted startS={since} endS={null} />
      </span>
    </li>
  );
}

function TaskLink({ task }: { task: SubmittedTask }) {
  const name = `${task.task_id}, seed ${task.seed}`;
  if (task.trajectory_id === null) return <>{name}</>;
  return (
    <Link
      className="link"
      to="/trajectories/$id"
      params={{ id: task.trajectory_id }}
      search={{ step: "end" }}
    >
      {name}
    </Link>
  );
}

function LastRound({ round }: { round: RoundSummary | null }) {
  if (round === null) return <p className="px-3 py-4 text-muted">No round is done yet.</p>;
  return (
    <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-2 px-3 py-3">
      <dt className="label">Round</dt>
      <dd>
        <Link className="link font-medium" to="/rounds/$id" params={{ id: String(round.id) }}>
          #{round.id} {round.preset}
        </Link>{" "}
        <span className="text-muted">
          <Ago atS={round.ended_at_s} />
        </span>
      </dd>
      <dt className="label">Before</dt>
      <dd>
        <RateBar rate={round.before?.sampled ?? null} />
      </dd>
      <dt className="label">After</dt>
      <dd>
        <RateBar rate={round.after?.sampled ?? null} />
      </dd>
      <dt className="label">Promoted</dt>
      <dd>{!round.promoted ? "nothing" : round.policy_out === null ? "yes" : <PolicyName id={round.policy_out} />}</dd>
    </dl>
  );
}

function Pools({ pools }: { pools: readonly Pool[] | null }) {
  if (pools === null) return <p className="px-3 py-4 text-bad">The sandbox host does not answer.</p>;
  return (
    <ul aria-label="Sandboxes" className="divide-y divide-line">
      {pools.map((pool) => (
        <li key={pool.kind} className="flex items-center gap-3 px-3 py-2">
          <span className="w-20 font-medium">{pool.kind}</span>
          <span aria-hidden className="h-2 min-w-12 flex-1 overflow-hidden rounded-full bg-raised">
            <span
              className="block h-full rounded-full bg-accent"
              style={{ width: `${(100 * pool.leased) / Math.max(1, pool.most)}%` }}
            />
          </span>
          <span className="text-right whitespace-nowrap text-muted">
            {pool.leased} of {pool.most}
            {pool.queued > 0 ? `, ${pool.queued} wait` : ""}
            {pool.lost > 0 ? `, ${pool.lost} failed` : ""}
          </span>
        </li>
      ))}
    </ul>
  );
}
