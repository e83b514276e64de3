/** One round, live. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";

import { over, roundQuery } from "../api/queries";
import type { Phase, Round } from "../api/words";
import { clock, moment } from "../format/times";
import { useEvents, useNews, type Events } from "../live/useEvents";
import { Ago, Lasted } from "../parts/Ago";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { PolicyName, Told } from "../parts/PolicyName";
import { StateMark } from "../parts/StateMark";
import { May } from "../shell/May";
import {
  alarmsOf,
  DIAGNOSTICS,
  has,
  pointsOf,
  rewardParts,
  SUCCESS,
  type Alarm,
  type CurvePoint,
} from "./curves";
import { PhaseLog } from "./PhaseLog";
import { PhaseFigures, PhaseTimeline } from "./PhaseTimeline";
import { ResultTable } from "./ResultTable";
import { RoundControls } from "./RoundControls";

const route = getRouteApi("/rounds/$id");
const Curve = lazy(() => import("./Curve").then((module) => ({ default: module.Curve })));

export function RoundPage() {
  const { id } = route.useParams();
  const known = /^\d{1,15}$/.test(id);
  const round = useQuery({ ...roundQuery(Number(id)), enabled: known });
  if (round.data) return <OneRound key={id} round={round.data} />;
  return (
    <Page title={`Round ${id}`}>
      <div className="panel">
        {!known ? (
          <Empty title="There is no such round">Rounds have numbers.</Empty>
        ) : round.isError ? (
          <Failed error={round.error} again={() => void round.refetch()} />
        ) : (
          <Loading rows={9} label="Loading the round" />
        )}
      </div>
    </Page>
  );
}

function OneRound({ round }: { round: Round }) {
  const [picked, setPicked] = useState<string | null>(null);
  const chosen = round.phases.find((phase) => phase.name === picked) ?? current(round.phases);
  const training = trainingPhase(round.phases);
  const going = training?.state === "running";
  const open = !over(round.state);
  const own = `round:${round.id}`;
  const run = training?.run_id ? [`run:${training.run_id}`] : [];
  const told = useEvents(open ? [own, ...run] : run, open);
  const { events } = told;
  const client = useQueryClient();
  useNews(
    events.filter((event) => event.subject === own),
    () => void client.invalidateQueries({ queryKey: roundQuery(round.id).queryKey }),
  );
  const points = pointsOf(events);
  const alarms = alarmsOf(events);
  return (
    <Page
      title={`Round ${round.id}`}
      beside={
        <>
          <StateMark state={round.state} />
          <span className="text-muted">{round.preset}</span>
        </>
      }
      actions={
        <>
          <Link className="button" to="/rounds/compare" search={{ ids: [round.id] }}>
            Compare
          </Link>
          <Link className="button" to="/trajectories" search={{ round: String(round.id) }}>
            Trajectories
          </Link>
          <May scope="rounds:write">
            <RoundControls round={round} />
          </May>
        </>
      }
    >
      <Facts round={round} />
      <div className="grid items-start gap-3 lg:grid-cols-[19rem_minmax(0,1fr)]">
        <Panel title="Phases">
          {round.phases.length === 0 ? (
            <NoPhases round={round} />
          ) : (
            <PhaseTimeline phases={round.phases} chosen={chosen?.name ?? null} onChoose={setPicked} />
          )}
        </Panel>
        <div className="flex min-w-0 flex-col gap-3">
          <Panel title="Result on unseen seeds">
            <ResultTable rows={round.rows} going={!over(round.state)} />
          </Panel>
          <Training phase={training} points={points} going={going} told={told} />
          {alarms.length === 0 ? null : <Alarms alarms={alarms} />}
          {chosen ? (
            <Panel title={`Phase ${chosen.name}`} beside={<StateMark state={chosen.state} />}>
              <PhaseFigures phase={chosen} />
            </Panel>
          ) : null}
          {chosen?.run_id ? (
            <Panel title={`Log of ${chosen.name}`}>
              <PhaseLog key={`${chosen.run_id} ${chosen.state}`} roundId={round.id} phase={chosen.name} />
            </Panel>
          ) : null}
        </div>
      </div>
    </Page>
  );
}

function NoPhases({ round }: { round: Round }) {
  if (over(round.state)) return <Empty title="It never began" />;
  return <Empty title="In line">The phases are settled when the round begins.</Empty>;
}

/** The phase one wants to see first: the running one, else the failed one, else the last that did something. */
function current(phases: readonly Phase[]): Phase | undefined {
  return (
    phases.find((phase) => phase.state === "running" || phase.state === "paused") ??
    phases.find((phase) => phase.state === "failed") ??
    phases.findLast((phase) => phase.state === "done")
  );
}

/** The online loop if it has begun, else what trains on what is there already. */
function trainingPhase(phases: readonly Phase[]): Phase | undefined {
  const begun = phases.filter((phase) => phase.run_id !== null);
  return ["ppo", "sft", "pretrain"].flatMap((kind) => begun.filter((phase) => phase.kind === kind))[0];
}

function Facts({ round }: { round: Round }) {
  return (
    <div className="flex flex-col gap-1">
      <dl className="flex flex-wrap gap-x-5 gap-y-1">
        <Fact name="Began">
          <Ago atS={round.started_at_s} />
        </Fact>
        <Fact name="Took">
          <Lasted startS={round.started_at_s} endS={round.ended_at_s} />
        </Fact>
        <Fact name="From">
          <PolicyLink id={round.policy_in} />
        </Fact>
        {round.policy_out === null ? null : (
          <Fact name="To">
            <PolicyLink id={round.policy_out} />
          </Fact>
        )}
        {round.promoted === null ? null : <Fact name="Promoted">{round.promoted ? "yes" : "no"}</Fact>}
      </dl>
      {round.reason === null ? null : (
        <p className={`break-words ${round.state === "failed" ? "text-bad" : "text-muted"}`}><Told text={round.reason} />
        </p>
      )}
    </div>
  );
}

/** To where a policy comes from, for those who may see that. */
function PolicyLink({ id }: { id: string | null }) {
  if (id === null) return <>untrained</>;
  return (
    <May scope="datasets:read" otherwise={<PolicyName id={id} />}>
      <Link className="link" to="/flywheel" search={{ policy: id }}>
        <PolicyName id={id} />
      </Link>
    </May>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="flex min-w-0 gap-1.5">
      <dt className="text-muted">{name}</dt>
      <dd className="break-all">{children}</dd>
    </div>
  );
}

function Training({
  phase,
  points,
  going,
  told,
}: {
  phase: Phase | undefined;
  points: readonly CurvePoint[];
  going: boolean;
  /** What the points were read from. */
  told: Events;
}) {
  const charts = [...DIAGNOSTICS, rewardParts(points)].filter((chart) =>
    has(
      points,
      chart.lines.map((line) => line.name),
    ),
  );
  return (
    <Panel
      title={phase ? `Training · ${phase.name}` : "Training"}
      beside={
        going ? (
          <span className="text-xs text-accent">
            <span aria-hidden className="pulse mr-1">
              ●
            </span>
            live
          </span>
        ) : null
      }
    >
      {points.length === 0 && told.error ? (
        <Failed error={told.error} again={told.again} />
      ) : points.length === 0 && told.loading ? (
        <Loading rows={5} label="Loading curves" />
      ) : points.length === 0 ? (
        <Empty title={going ? "Waiting for the first iteration" : "No curve yet"}>
          {going
            ? `Until then: ${phase?.progress?.phase ?? "starting"}.`
            : "Curves are drawn once the online loop has begun."}
        </Empty>
      ) : (
        <Suspense fallback={<Loading rows={5} label="Loading curves" />}>
          <Curve chart={SUCCESS} points={points} height={210} />
          <p className="px-3 pb-2 text-xs text-muted">
            Across: iterations of the online loop. Shaded: 95 % intervals. Dashed: beyond it somebody should look.
          </p>
          <div className="grid border-t border-line sm:grid-cols-2 xl:grid-cols-4">
            {charts.map((chart) => (
              <Curve key={chart.title} chart={chart} points={points} height={110} />
            ))}
          </div>
        </Suspense>
      )}
    </Panel>
  );
}

function Alarms({ alarms }: { alarms: readonly Alarm[] }) {
  return (
    <Panel title="Alarms" beside={<span className="text-xs text-warn">{alarms.length}</span>}>
      <ul aria-label="Alarms" tabIndex={0} className="max-h-44 divide-y divide-line overflow-y-auto">
        {alarms.map((alarm) => (
          <li key={alarm.id} className="flex gap-3 px-3 py-1.5">
            <time className="text-xs leading-[1.2rem] text-muted" title={moment(alarm.atS)}>
              {clock(alarm.atS)}
            </time>
            <span className="min-w-0 break-words">
              <span className="font-medium text-warn">{alarm.name}</span> {alarm.text}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
