/** One episode, step by step. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { stepsQuery, trajectoryQuery } from "../api/queries";
import type { Step, TrajectoryDetail } from "../api/words";
import { figure } from "../format/numbers";
import { Ago, Lasted } from "../parts/Ago";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page } from "../parts/Page";
import { OutcomeMark } from "../trajectories/OutcomeMark";
import { marksOf, pointerBefore } from "./marks";
import { moved, moveOf, placeOf, stopOf, type Move } from "./place";
import { Screen, type Zoom } from "./Screen";
import { EndDetail, StepDetail } from "./StepDetail";
import { StepStrip } from "./StepStrip";
import { cellsOf, scorersOf } from "./strip";
import { usePlay } from "./usePlay";

const route = getRouteApi("/trajectories/$id");

export function ReplayPage() {
  const { id } = route.useParams();
  const trajectory = useQuery(trajectoryQuery(id));
  const steps = useQuery(
    stepsQuery(id, trajectory.data !== undefined && trajectory.data.ended_at_s === null),
  );
  const error = trajectory.error ?? steps.error;
  if (error) {
    return (
      <Page title="Replay">
        <div className="panel">
          <Failed error={error} again={() => void Promise.all([trajectory.refetch(), steps.refetch()])} />
        </div>
      </Page>
    );
  }
  if (!trajectory.data || !steps.data) {
    return (
      <Page title="Replay">
        <div className="panel">
          <Loading rows={9} label="Loading the replay" />
        </div>
      </Page>
    );
  }
  return <Replay key={id} trajectory={trajectory.data} steps={steps.data} />;
}

function Replay({ trajectory, steps }: { trajectory: TrajectoryDetail; steps: readonly Step[] }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const stops = steps.length + (trajectory.final_image ? 1 : 0);
  const stop = Math.min(stopOf(search, steps.length), Math.max(stops - 1, 0));
  const scorers = scorersOf(steps);
  const [scorer, setScorer] = useState<string | null>(null);
  const chosen = scorer ?? scorers.at(-1) ?? null;

  const go = (to: number) => void navigate({ search: placeOf(to, steps.length), replace: true });
  const play = usePlay(stop, stops, go);
  const move = (way: Move) => {
    if (way === "play") {
      play.toggle();
    } else {
      play.pause();
      go(moved(stop, way, stops));
    }
  };
  useKeys(move);
  usePreload(steps, stop);

  return (
    <Page
      title={trajectory.task_id}
      beside={
        <>
          <OutcomeMark trajectory={trajectory} />
          <p
            className="w-full min-w-0 text-base break-words sm:w-auto sm:flex-1 sm:pl-2"
            data-testid="instruction"
          >
            {trajectory.instruction}
          </p>
        </>
      }
    >
      {steps.length === 0 && !trajectory.final_image ? (
        <div className="panel">
          <Empty title="No step yet">The episode has begun, and its first step will appear here.</Empty>
        </div>
      ) : (
        <>
          <section className="panel flex items-center" aria-label="Timeline">
            <StepStrip
              cells={cellsOf(steps, chosen)}
              stop={stop}
              ended={trajectory.final_image !== null}
              success={trajectory.success}
              onStop={(to) => {
                play.pause();
                go(to);
              }}
            />
          </section>
          <Stage
            trajectory={trajectory}
            steps={steps}
            stop={stop}
            stops={stops}
            playing={play.playing}
            move={move}
            scorer={chosen}
            scorers={scorers}
            onScorer={setScorer}
          />
        </>
      )}
    </Page>
  );
}

function Facts({ trajectory }: { trajectory: TrajectoryDetail }) {
  const facts: [string, React.ReactNode][] = [
    ["Seed", trajectory.seed],
    ["Reward", figure(trajectory.reward)],
    ["Policy", <PolicyName key="policy" trajectory={trajectory} />],
    ["Update", trajectory.policy_update],
    ["Purpose", trajectory.labels.purpose ?? "–"],
    ["Split", trajectory.split],
    ["Round", <RoundLink key="round" round={trajectory.labels.round} />],
    ["Turns", trajectory.turns],
    ["Began", <Ago key="began" atS={trajectory.started_at_s} />],
    ["Took", <Lasted key="took" startS={trajectory.started_at_s} endS={trajectory.ended_at_s} />],
  ];
  return (
    <section className="panel px-3 py-2.5" aria-label="Episode">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-1 text-sm">
        {facts.map(([name, value]) => (
          <div key={name} className="flex min-w-0 justify-between gap-3">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 truncate text-right">{value}</dd>
          </div>
        ))}
      </dl>
      <a
        className="link mt-2 inline-block"
        href={`/v1/trajectories/${trajectory.id}/replay.html`}
        download={`${trajectory.id}.html`}
      >
        Save this replay as one HTML file
      </a>
    </section>
  );
}

function PolicyName({ trajectory }: { trajectory: TrajectoryDetail }) {
  return (
    <Link
      className="link"
      to="/trajectories"
      search={{ policy: trajectory.policy_id }}
      title={trajectory.policy_id}
    >
      {trajectory.policy_id}
    </Link>
  );
}

function RoundLink({ round }: { round: string | undefined }) {
  if (round === undefined) return "–";
  return (
    <Link className="link" to="/rounds/$id" params={{ id: round }}>
      #{round}
    </Link>
  );
}

interface StageProps {
  trajectory: TrajectoryDetail;
  steps: readonly Step[];
  stop: number;
  stops: number;
  playing: boolean;
  move: (way: Move) => void;
  scorer: string | null;
  scorers: readonly string[];
  onScorer: (scorer: string) => void;
}

function Stage({ trajectory, steps, stop, stops, playing, move, scorer, scorers, onScorer }: StageProps) {
  const [zoom, setZoom] = useState<Zoom>("fit");
  const [pixelated, setPixelated] = useState(true);
  const step = steps[stop];
  const image = step?.image ?? trajectory.final_image;
  const { marks } = marksOf(step?.actions ?? [], pointerBefore(steps, stop));
  return (
    <div className="grid min-h-0 items-start gap-3 lg:grid-cols-[minmax(0,1fr)_26rem]">
      <section className="panel flex min-w-0 flex-col" aria-label="Screen">
        <div className="flex h-[27.5rem] min-w-0 flex-col bg-raised/60 p-2 lg:h-[max(27.5rem,calc(100dvh-17rem))]">
          {image ? (
            <Screen
              image={image}
              marks={marks}
              zoom={zoom}
              pixelated={pixelated}
              alt={step ? `Screen at step ${step.index}` : "Screen at the end"}
            />
          ) : null}
        </div>
        <div className="flex items-center gap-1 border-t border-line px-2 py-1.5">
          <Key label="Previous step" keys="←" disabled={stop === 0} onClick={() => move("previous")}>
            ◀
          </Key>
          <Key
            label={playing ? "Pause" : "Play"}
            keys="space"
            disabled={stops < 2}
            onClick={() => move("play")}
          >
            {playing ? "❚❚" : "▶"}
          </Key>
          <Key label="Next step" keys="→" disabled={stop >= stops - 1} onClick={() => move("next")}>
            ▶▏
          </Key>
          <span className="px-2 whitespace-nowrap" data-testid="place">
            {step ? `Step ${step.index}` : "End"}{" "}
            <span className="text-muted">
              {step ? "of" : "after"} {steps.length}
            </span>
          </span>
          <div className="ml-auto flex items-center gap-2 sm:gap-3">
            <label className="flex items-center gap-1.5 text-muted">
              <input
                type="checkbox"
                checked={pixelated}
                onChange={(event) => setPixelated(event.target.checked)}
                className="accent-accent"
              />
              Pixels
            </label>
            <select
              aria-label="Zoom"
              className="field w-auto"
              value={zoom}
              onChange={(event) =>
                setZoom(event.target.value === "fit" ? "fit" : (Number(event.target.value) as Zoom))
              }
            >
              <option value="fit">Fit</option>
              {[1, 2, 3, 4].map((times) => (
                <option key={times} value={times}>
                  {times}×
                </option>
              ))}
            </select>
          </div>
        </div>
      </section>
      <div className="flex min-w-0 flex-col gap-3">
        <section className="panel min-w-0 overflow-hidden" aria-label="Step">
          <div className="flex min-h-10 items-center justify-between gap-3 border-b border-line px-3">
            <h2 className="font-semibold">{step ? `Step ${step.index}` : "End"}</h2>
            {scorers.length > 1 && scorer !== null ? (
              <select
                aria-label="Scorer"
                className="field w-auto max-w-52"
                value={scorer}
                onChange={(event) => onScorer(event.target.value)}
              >
                {scorers.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            ) : scorer !== null && step ? (
              <span className="max-w-56 truncate font-mono text-xs text-muted" title={scorer}>
                {scorer}
              </span>
            ) : null}
          </div>
          {step ? <StepDetail step={step} scorer={scorer} /> : <EndDetail trajectory={trajectory} />}
        </section>
        <Facts trajectory={trajectory} />
      </div>
    </div>
  );
}

function Key({
  label,
  keys,
  disabled,
  onClick,
  children,
}: {
  label: string;
  keys: string;
  disabled: boolean;
  onClick: () => void;
  children: React.ReactNode;
}) {
  return (
    <button
      type="button"
      className="button w-10 px-0"
      aria-label={label}
      title={`${label} (${keys})`}
      disabled={disabled}
      onClick={onClick}
    >
      <span aria-hidden>{children}</span>
    </button>
  );
}

/** Keys act on the whole page, except where a key is text or a control of its own. */
function useKeys(move: (way: Move) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLElement)) return;
      if (event.target.closest("input, select, textarea, [role=dialog]")) return;
      if (event.key === " " && event.target.closest("button, a")) return;
      const way = moveOf(event.key);
      if (way === undefined) return;
      event.preventDefault();
      move(way);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}

/** Fetches the next pictures ahead, so that stepping never flickers. */
function usePreload(steps: readonly Step[], stop: number): void {
  useEffect(() => {
    for (const step of steps.slice(stop + 1, stop + 4)) new Image().src = step.image.url;
  }, [steps, stop]);
}
