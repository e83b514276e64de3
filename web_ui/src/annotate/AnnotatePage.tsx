/** What waits for a person: actions about to be carried out, and what others disagree on. */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { agreementQuery, reviewQueueQuery, trajectoryQuery } from "../api/queries";
import type { ReviewItem, TrajectoryDetail } from "../api/words";
import { figure, percent } from "../format/numbers";
import { moment } from "../format/times";
import { LongText } from "../parts/LongText";
import { More } from "../parts/More";
import { Empty, Failed, Loading, Trouble } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { marksOf, pointerBefore } from "../replay/marks";
import { Screen } from "../replay/Screen";
import { EndDetail, StepDetail } from "../replay/StepDetail";
import { useKeys } from "../replay/useKeys";
import { useSteps } from "../replay/useSteps";
import { MarkPanel } from "./MarkPanel";
import { Proposals } from "./Proposals";

const KINDS: Record<ReviewItem["kind"], string> = {
  verifier_judge: "Verifier and judge",
  verifier_steps: "Verifier and step scores",
  judge_steps: "Judge and step scores",
  step_scorers: "Two scorers of a step",
  people: "Two people",
};

/** The entry under review: it stays so however the list changes, until another is chosen. */
interface Held {
  item: ReviewItem;
  /** Marked here with none after it: once the list has let go of it, the first takes its place. */
  marked: boolean;
}

export function AnnotatePage() {
  const [state, setState] = useState<"open" | "resolved">("open");
  const list = useInfiniteQuery(reviewQueueQuery(state));
  const items = list.data?.pages.flatMap((page) => page.items);
  const [held, setHeld] = useState<Held | null>(null);
  const place = items?.findIndex((each) => keyOf(each) === (held && keyOf(held.item))) ?? -1;
  const item = items?.[place] ?? (held === null || held.marked ? items?.[0] : held.item);
  // also what nobody chose is looked at: a stronger one that arrives does not take its place
  if (item && (held === null || keyOf(item) !== keyOf(held.item))) setHeld({ item, marked: false });
  const go = (by: number, marked = false) => {
    const to = items?.[Math.min(Math.max(place + by, 0), items.length - 1)];
    if (to) setHeld({ item: to, marked: marked && to === item });
  };
  useKeys<"next" | "previous">(
    (way) => go(way === "next" ? 1 : -1),
    (key) => (key === "j" ? "next" : key === "k" ? "previous" : undefined),
  );
  return (
    <Page
      title="Annotate"
      actions={
        <select
          aria-label="Which entries"
          className="field w-auto"
          value={state}
          onChange={(event) => {
            setState(event.target.value === "resolved" ? "resolved" : "open");
            setHeld(null);
          }}
        >
          <option value="open">Waiting</option>
          <option value="resolved">Marked</option>
        </select>
      }
    >
      <Proposals />
      <div className="grid min-h-0 items-start gap-3 lg:grid-cols-[19rem_minmax(0,1fr)]">
        <div className="flex min-w-0 flex-col gap-3">
          <Panel
            title="Disagreements"
            beside={
              items !== undefined && items.length > 1 ? (
                <span className="text-xs text-muted max-sm:hidden">
                  <kbd className="keycap">J</kbd> <kbd className="keycap">K</kbd> up and down
                </span>
              ) : null
            }
          >
            {list.isError && items === undefined ? (
              <Failed error={list.error} again={() => void list.refetch()} />
            ) : items === undefined ? (
              <Loading label="Loading what waits" />
            ) : items.length === 0 ? (
              <Empty title={state === "open" ? "Nothing waits for you" : "Nothing is marked yet"}>
                Where verifiers, judges, step scores or two people contradict each other, an entry appears
                here.
                {state === "open" ? <Look /> : null}
              </Empty>
            ) : (
              <ul aria-label="Disagreements" className="max-h-[40dvh] overflow-y-auto lg:max-h-[70dvh]">
                {items.map((each, order) => (
                  <Entry
                    key={keyOf(each)}
                    item={each}
                    here={order === place}
                    onGo={() => setHeld({ item: each, marked: false })}
                  />
                ))}
              </ul>
            )}
            <More
              key={state}
              more={list.hasNextPage}
              onMore={() => list.fetchNextPage({ throwOnError: true })}
            />
          </Panel>
          <Agreement />
        </div>
        {item ? <Review key={keyOf(item)} item={item} onMarked={() => go(1, true)} /> : null}
      </div>
    </Page>
  );
}

function keyOf(item: ReviewItem): string {
  return `${item.trajectory_id} ${item.step_index ?? "whole"} ${item.kind}`;
}

function Entry({ item, here, onGo }: { item: ReviewItem; here: boolean; onGo: () => void }) {
  return (
    <li className="border-b border-line last:border-0">
      <button
        type="button"
        aria-current={here || undefined}
        className="flex w-full flex-col gap-0.5 border-l-2 border-transparent px-3 py-2 text-left hover:bg-raised aria-[current=true]:border-accent aria-[current=true]:bg-raised"
        onClick={onGo}
      >
        <span className="flex w-full justify-between gap-2">
          <span className="font-medium">{item.step_index === null ? "Episode" : `Step ${item.step_index}`}</span>
          <span className="text-muted" title="How far apart they are">
            {percent(item.strength, 0)}
          </span>
        </span>
        <span className="w-full truncate text-muted">{item.instruction || item.task_id}</span>
        <span className="text-xs text-muted">{KINDS[item.kind]}</span>
      </button>
    </li>
  );
}

function Review({ item, onMarked }: { item: ReviewItem; onMarked: () => void }) {
  const trajectory = useQuery(trajectoryQuery(item.trajectory_id));
  if (trajectory.data)
    return <Reviewed item={item} trajectory={trajectory.data} onMarked={onMarked} />;
  return (
    <div className="panel">
      {trajectory.error ? (
        <Failed error={trajectory.error} again={() => void trajectory.refetch()} />
      ) : (
        <Loading rows={9} label="Loading the episode" />
      )}
    </div>
  );
}

function Reviewed({
  item,
  trajectory,
  onMarked,
}: {
  item: ReviewItem;
  trajectory: TrajectoryDetail;
  onMarked: () => void;
}) {
  const { id, turns } = trajectory;
  const last = turns + (trajectory.final_image ? 0 : -1);
  const [stop, setStop] = useState(item.step_index ?? last);
  const { steps, error, again } = useSteps(id, turns, [[stop - 5, stop + 5]]);
  const step = steps[stop];
  const atEnd = stop >= turns;
  const index = atEnd || (item.step_index === null && stop === last) ? null : stop;
  const image = atEnd ? trajectory.final_image : step?.image;
  useKeys<"next" | "previous">(
    (way) => setStop((now) => Math.min(Math.max(now + (way === "next" ? 1 : -1), 0), Math.max(last, 0))),
    (key) => (key === "ArrowRight" ? "next" : key === "ArrowLeft" ? "previous" : undefined),
  );
  const { marks } = marksOf(step?.actions ?? [], pointerBefore(steps, stop));
  return (
    <div className="grid min-w-0 items-start gap-3 xl:grid-cols-[minmax(0,1fr)_24rem]">
      <section className="panel flex min-w-0 flex-col" aria-label="Screen">
        <LongText className="border-b border-line px-3 py-2" testId="instruction" text={trajectory.instruction} />
        <div className="flex h-[24rem] min-w-0 flex-col bg-raised/60 p-2 lg:h-[max(24rem,calc(100dvh-20rem))]">
          {image ? (
            <Screen
              image={image}
              marks={marks}
              zoom="fit"
              pixelated={image.width_px < 400}
              alt={atEnd ? "Screen at the end" : `Screen at step ${stop}`}
            />
          ) : error ? (
            <Failed error={error} again={again} />
          ) : (
            <Loading label="Loading the step" />
          )}
        </div>
        <div className="flex items-center gap-3 border-t border-line px-3 py-2">
          <span data-testid="place">
            {atEnd ? "End" : `Step ${stop}`} <span className="text-muted">of {turns}</span>
          </span>
          <span className="text-xs text-muted max-sm:hidden">
            <kbd className="keycap">←</kbd> <kbd className="keycap">→</kbd> other steps
          </span>
          <Link
            className="link ml-auto"
            to="/trajectories/$id"
            params={{ id }}
            search={{ step: atEnd ? "end" : stop }}
          >
            Open the replay
          </Link>
        </div>
      </section>
      <div className="flex min-w-0 flex-col gap-3">
        <Panel title="Who says what">
          <ul className="flex flex-col gap-1.5 p-3">
            {item.sides.map((side) => (
              <li key={side.scorer} className="min-w-0 break-words">
                <span className="font-mono text-xs">{side.scorer}</span>{" "}
                <span className="font-semibold">{figure(side.score)}</span>
                {side.rationale ? <p className="text-muted">{side.rationale}</p> : null}
              </li>
            ))}
          </ul>
          <p className="border-t border-line px-3 py-2 text-xs text-muted" data-testid="rule">
            {ruleOf(item)}
          </p>
        </Panel>
        <MarkPanel
          key={index ?? "whole"}
          id={id}
          index={index}
          ended={trajectory.ended_at_s !== null}
          onMarked={onMarked}
        />
        <section className="panel min-w-0 overflow-hidden" aria-label="Step">
          {step ? <StepDetail step={step} scorer={null} /> : atEnd ? <EndDetail trajectory={trajectory} /> : null}
        </section>
      </div>
    </div>
  );
}

/** Since when it waits, and by which rule. */
function ruleOf({ kind, found_by: rule, found_at_s }: ReviewItem): string {
  const found = `Found ${moment(found_at_s)}`;
  if (!rule) return `${found}, by a version that kept no rules.`;
  const bounds = `${found}: queued from ${figure(rule.threshold)} apart, with weight ${figure(rule.weight)}`;
  const ofSteps = kind === "verifier_steps" || kind === "judge_steps";
  return ofSteps ? `${bounds}; the steps count by the mean of the last ${rule.last_steps}.` : `${bounds}.`;
}

/** Judging does it by itself; after scores of another kind somebody asks. */
function Look() {
  const client = useQueryClient();
  const look = useMutation({
    mutationFn: () => answer(api.POST("/v1/review-queue", { body: { rules: "", labels: {} } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ["review queue"] }),
  });
  return (
    <div className="mt-3 flex flex-col items-center gap-2">
      <button type="button" className="button" disabled={look.isPending} onClick={() => look.mutate()}>
        {look.isPending ? "Looking…" : "Look for them now"}
      </button>
      {look.isSuccess ? <p role="status">Looked through everything: none waits.</p> : null}
      <Trouble error={look.error} />
    </div>
  );
}

function Agreement() {
  const found = useQuery(agreementQuery);
  return (
    <Panel title="How far people agree">
      {found.isLoadingError ? (
        <Failed error={found.error} again={() => void found.refetch()} />
      ) : !found.data ? (
        <Loading rows={2} label="Loading the agreement" />
      ) : found.data.steps === 0 ? (
        <p className="p-3 text-muted">No step has been marked by two people yet.</p>
      ) : (
        <dl className="grid grid-cols-2 gap-x-4 gap-y-1 p-3">
          <dt className="text-muted">Steps marked by several</dt>
          <dd className="text-right">{found.data.steps}</dd>
          <dt className="text-muted">Krippendorff’s alpha</dt>
          <dd className="text-right">{figure(found.data.alpha_good)}</dd>
          {found.data.pairs.map((pair) => (
            <Pair key={`${pair.first} ${pair.second}`} names={[pair.first, pair.second].map((one) => one.replace(/^human:/, "")).join(" · ")} agreed={pair.agreed} />
          ))}
        </dl>
      )}
    </Panel>
  );
}

function Pair({ names, agreed }: { names: string; agreed: number }) {
  return (
    <>
      <dt className="truncate text-muted" title={names}>
        {names}
      </dt>
      <dd className="text-right">{percent(agreed, 0)} alike</dd>
    </>
  );
}
