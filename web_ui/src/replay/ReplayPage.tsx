/** One episode, step by step. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useState, type ReactNode } from "react";

import { trajectoryQuery } from "../api/queries";
import type { Step, TrajectoryDetail } from "../api/words";
import { MarkPanel } from "../annotate/MarkPanel";
import { CompareWith } from "../compare/CompareWith";
import { LongText } from "../parts/LongText";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page } from "../parts/Page";
import { LiveLink } from "../sandboxes/LiveLink";
import { May } from "../shell/May";
import { OutcomeMark } from "../trajectories/OutcomeMark";
import { AROUND } from "./ahead";
import { BeforeAfter } from "./BeforeAfter";
import { BranchButton, Lineage } from "./Branch";
import { CurvesPanel } from "./CurvesPanel";
import { Facts } from "./Facts";
import { Inside } from "./Inside";
import { Keys } from "./Keys";
import { marksOf, pointerBefore } from "./marks";
import type { Span } from "./pages";
import { moved, moveOf, placeOf, stopOf, type Move, type PlaceSearch } from "./place";
import { Screen, type Zoom } from "./Screen";
import { EndDetail, StepDetail } from "./StepDetail";
import { StepStrip } from "./StepStrip";
import { cellsOf, scorersOf } from "./strip";
import { useKeys } from "./useKeys";
import { usePlace } from "./usePlace";
import { usePlay } from "./usePlay";
import { useSteps } from "./useSteps";

const route = getRouteApi("/trajectories/$id");

export function ReplayPage() {
  const { id } = route.useParams();
  const trajectory = useQuery(trajectoryQuery(id));
  if (trajectory.data) return <Replay key={id} trajectory={trajectory.data} />;
  return (
    <Page title="Replay">
      <div className="panel">
        {trajectory.error ? (
          <Failed error={trajectory.error} again={() => void trajectory.refetch()} />
        ) : (
          <Loading rows={9} label="Loading the replay" />
        )}
      </div>
    </Page>
  );
}

function Replay({ trajectory }: { trajectory: TrajectoryDetail }) {
  const { id, turns } = trajectory;
  const stops = turns + (trajectory.final_image ? 1 : 0);
  const [place, setPlace] = usePlace();
  const stopAt = (place: PlaceSearch) => Math.min(stopOf(place, turns), Math.max(stops - 1, 0));
  const stop = stopAt(place);
  const [shown, setShown] = useState<Span>([0, -1]);
  const { steps, error, again } = useSteps(id, turns, [[stop - AROUND, stop + AROUND], shown]);
  const scorers = useMemo(() => scorersOf(steps), [steps]);
  const [scorer, setScorer] = useState<string | null>(null);
  const chosen = scorer ?? scorers.at(-1) ?? null;
  const cells = useMemo(() => cellsOf(steps, chosen), [steps, chosen]);

  const go = (to: number) => setPlace(placeOf(to, turns));
  const [speed, setSpeed] = useState(1);
  const [curves, setCurves] = useState(false);
  const play = usePlay(stop, stops, go, speed);
  const move = (way: Move) => {
    if (way === "play") {
      play.toggle();
    } else {
      play.pause();
      // keys may come faster than they are drawn: each moves on from where the one before led
      setPlace((now) => placeOf(moved(stopAt(now), way, stops), turns));
    }
  };
  const stay = () => {
    play.pause();
    go(stop);
  };
  useKeys(move, moveOf);
  usePreload(steps, stop);

  return (
    <Page
      title={trajectory.task_id}
      actions={
        <>
          {trajectory.ended_at_s === null ? <LiveLink trajectory={id} className="button" /> : null}
          <CompareWith trajectory={trajectory} />
          <May scope="tasks:write">
            <BranchButton trajectory={trajectory} step={stop} onStay={stay} />
          </May>
        </>
      }
      beside={
        <>
          <OutcomeMark trajectory={trajectory} />
          <LongText
            className="w-full min-w-0 text-base sm:w-auto sm:flex-1 sm:pl-2"
            testId="instruction"
            text={trajectory.instruction}
          />
        </>
      }
    >
      {stops === 0 ? (
        <div className="panel">
          <Empty title="No step yet">The episode has begun, and its first step will appear here.</Empty>
        </div>
      ) : steps.length > 0 && steps.every((step) => step === undefined) ? (
        <div className="panel">
          {error ? <Failed error={error} again={again} /> : <Loading rows={9} label="Loading the replay" />}
        </div>
      ) : (
        <>
          <section className="panel flex items-center" aria-label="Timeline">
            <StepStrip
              cells={cells}
              stop={stop}
              ended={trajectory.final_image !== null}
              success={trajectory.success}
              onStop={(to) => {
                play.pause();
                go(to);
              }}
              onShown={setShown}
            />
          </section>
          <section className="panel min-w-0" aria-label="Curves">
            <button
              type="button"
              aria-expanded={curves}
              className="flex min-h-8 w-full items-center justify-between px-3 text-left hover:bg-raised"
              onClick={() => setCurves(!curves)}
            >
              <span className="panel-title">Reward, value, advantage and scores</span>
              <span aria-hidden className="text-muted">
                {curves ? "–" : "+"}
              </span>
            </button>
            {curves ? <CurvesPanel id={id} turns={turns} stop={stop} onStop={go} /> : null}
          </section>
          <Stage
            trajectory={trajectory}
            steps={steps}
            stop={stop}
            stops={stops}
            playing={play.playing}
            speed={speed}
            onSpeed={setSpeed}
            move={move}
            onStay={stay}
            scorer={chosen}
            scorers={scorers}
            onScorer={setScorer}
            missing={error ? <Failed error={error} again={again} /> : <Loading label="Loading the step" />}
          />
        </>
      )}
    </Page>
  );
}

interface StageProps {
  trajectory: TrajectoryDetail;
  steps: readonly (Step | undefined)[];
  stop: number;
  stops: number;
  playing: boolean;
  speed: number;
  onSpeed: (speed: number) => void;
  move: (way: Move) => void;
  /** Somebody writes about what is shown: it stays, also where the newest step of a running episode was. */
  onStay: () => void;
  scorer: string | null;
  scorers: readonly string[];
  onScorer: (scorer: string) => void;
  /** Shown in the place of a step that is not loaded. */
  missing: ReactNode;
}

function Stage({
  trajectory,
  steps,
  stop,
  stops,
  playing,
  speed,
  onSpeed,
  move,
  onStay,
  scorer,
  scorers,
  onScorer,
  missing,
}: StageProps) {
  const [zoom, setZoom] = useState<Zoom>("fit");
  const [pixelated, setPixelated] = useState(true);
  const [sliding, setSliding] = useState(false);
  const step = steps[stop];
  const atEnd = stop >= steps.length;
  const image = atEnd ? trajectory.final_image : step?.image;
  const after = steps[stop + 1]?.image ?? (stop === steps.length - 1 ? trajectory.final_image : null);
  const name = atEnd ? "End" : `Step ${stop}`;
  const { marks } = marksOf(step?.actions ?? [], pointerBefore(steps, stop));
  return (
    <div className="grid min-h-0 items-start gap-3 lg:grid-cols-[minmax(0,1fr)_26rem]">
      <section className="panel flex min-w-0 flex-col" aria-label="Screen">
        <div className="flex h-[27.5rem] min-w-0 flex-col bg-raised/60 p-2 lg:h-[max(27.5rem,calc(100dvh-17rem))]">
          {sliding && image && after && !atEnd ? (
            <BeforeAfter before={image} after={after} pixelated={pixelated} />
          ) : image ? (
            <Screen
              image={image}
              marks={marks}
              zoom={zoom}
              pixelated={pixelated}
              alt={atEnd ? "Screen at the end" : `Screen at step ${stop}`}
            />
          ) : null}
        </div>
        <div className="flex flex-wrap items-center gap-1 border-t border-line px-2 py-1.5">
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
            {name}{" "}
            <span className="text-muted">
              {atEnd ? "after" : "of"} {steps.length}
            </span>
          </span>
          <div className="ml-auto flex flex-wrap items-center justify-end gap-2 sm:gap-3">
            <select
              aria-label="Speed"
              className="field w-auto"
              value={speed}
              onChange={(event) => onSpeed(Number(event.target.value))}
            >
              {[0.5, 1, 2, 4, 8].map((times) => (
                <option key={times} value={times}>
                  {times}× speed
                </option>
              ))}
            </select>
            <label className="flex items-center gap-1.5 text-muted">
              <input
                type="checkbox"
                checked={sliding}
                onChange={(event) => setSliding(event.target.checked)}
                className="accent-accent"
              />
              Before/after
            </label>
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
          <Keys />
        </div>
      </section>
      <div className="flex min-w-0 flex-col gap-3">
        <section className="panel min-w-0 overflow-hidden" aria-label="Step">
          <div className="flex min-h-10 items-center justify-between gap-3 border-b border-line px-3">
            <h2 className="font-semibold">{name}</h2>
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
            ) : scorer !== null && !atEnd ? (
              <span className="max-w-56 truncate font-mono text-xs text-muted" title={scorer}>
                {scorer}
              </span>
            ) : null}
          </div>
          {step ? (
            <StepDetail step={step} scorer={scorer} />
          ) : atEnd ? (
            <EndDetail trajectory={trajectory} />
          ) : (
            missing
          )}
        </section>
        {atEnd ? null : <Inside id={trajectory.id} index={stop} />}
        <div onFocus={onStay}>
          <MarkPanel
            key={atEnd ? "whole" : stop}
            id={trajectory.id}
            index={atEnd ? null : stop}
            ended={trajectory.ended_at_s !== null}
          />
        </div>
        <Lineage trajectory={trajectory} />
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
  children: ReactNode;
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

/** Fetches the next pictures ahead, so that stepping never flickers. */
function usePreload(steps: readonly (Step | undefined)[], stop: number): void {
  useEffect(() => {
    for (const step of steps.slice(stop + 1, stop + 4)) if (step) new Image().src = step.image.url;
  }, [steps, stop]);
}
