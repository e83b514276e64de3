/** Two episodes side by side: where they part, and what each did from there. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { trajectoryQuery } from "../api/queries";
import type { Step, TrajectoryDetail } from "../api/words";
import { counted } from "../format/numbers";
import { LongText } from "../parts/LongText";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page } from "../parts/Page";
import { PolicyName } from "../parts/PolicyName";
import { marksOf, pointerBefore } from "../replay/marks";
import { moved, moveOf, type Move } from "../replay/place";
import { Screen } from "../replay/Screen";
import { EndDetail, StepDetail } from "../replay/StepDetail";
import { scorersOf } from "../replay/strip";
import { useKeys } from "../replay/useKeys";
import { useSteps } from "../replay/useSteps";
import { OutcomeMark } from "../trajectories/OutcomeMark";
import { align, cutOf, divergence, MOST_STEPS, seenOf, type Row } from "./align";
import { RowList } from "./RowList";

const route = getRouteApi("/compare");

export function ComparePage() {
  const { one, other } = route.useSearch();
  const first = useQuery({ ...trajectoryQuery(one), enabled: one !== "" });
  const second = useQuery({ ...trajectoryQuery(other), enabled: other !== "" });
  if (one === "" || other === "")
    return (
      <Page title="Compare">
        <div className="panel">
          <Empty title="Two trajectories are needed">
            Open one of them under{" "}
            <Link to="/trajectories" className="link">
              Trajectories
            </Link>{" "}
            and choose what to compare it with.
          </Empty>
        </div>
      </Page>
    );
  if (first.data && second.data)
    return <Comparison key={`${one} ${other}`} one={first.data} other={second.data} />;
  const failed = first.error ? first : second;
  return (
    <Page title="Compare">
      <div className="panel">
        {failed.error ? (
          <Failed error={failed.error} again={() => void failed.refetch()} />
        ) : (
          <Loading rows={9} label="Loading both trajectories" />
        )}
      </div>
    </Page>
  );
}

function Comparison({ one, other }: { one: TrajectoryDetail; other: TrajectoryDetail }) {
  const first = useAll(one);
  const second = useAll(other);
  const rows = useMemo(
    () => (first.whole && second.whole ? align(first.whole.map(seenOf), second.whole.map(seenOf)) : null),
    [first.whole, second.whole],
  );
  const error = first.error ?? second.error;
  const title = one.task_id === other.task_id ? one.task_id : "Compare";
  return (
    <Page
      title={title}
      beside={
        <LongText
          className="w-full min-w-0 text-base sm:w-auto sm:flex-1 sm:pl-2"
          text={one.instruction === other.instruction ? one.instruction : "Two instructions"}
        />
      }
    >
      {rows === null ? (
        <div className="panel">
          {error ? (
            <Failed error={error} again={first.error ? first.again : second.again} />
          ) : (
            <Loading rows={9} label="Loading both trajectories" />
          )}
        </div>
      ) : (
        <Aligned
          rows={rows}
          one={{ trajectory: one, steps: first.whole ?? [] }}
          other={{ trajectory: other, steps: second.whole ?? [] }}
        />
      )}
    </Page>
  );
}

/** All steps of an episode, as soon as the last of them is there. */
function useAll(trajectory: TrajectoryDetail) {
  const turns = Math.min(trajectory.turns, MOST_STEPS);
  const { steps, error, again } = useSteps(trajectory.id, turns, [[0, turns - 1]]);
  const whole = useMemo(() => {
    const found = steps.filter((step) => step !== undefined);
    return found.length === turns ? found : null;
  }, [steps, turns]);
  return { whole, error, again };
}

/** Rows stand below each other: up and down lead through them, too. */
function rowMoveOf(key: string): Exclude<Move, "play"> | undefined {
  const way = moveOf(key === "ArrowDown" ? "ArrowRight" : key === "ArrowUp" ? "ArrowLeft" : key);
  return way === "play" ? undefined : way;
}

interface Side {
  trajectory: TrajectoryDetail;
  steps: readonly Step[];
}

function Aligned({ rows, one, other }: { rows: readonly Row[]; one: Side; other: Side }) {
  const { row: asked } = route.useSearch();
  const navigate = route.useNavigate();
  const parts = divergence(rows);
  // behind the last row stand the ends of both
  const at = Math.min(asked ?? parts ?? 0, rows.length);
  const go = (row: number) => void navigate({ search: (now) => ({ ...now, row }), replace: true });
  useKeys((way) => go(moved(at, way, rows.length + 1)), rowMoveOf);
  const here = rows[at];
  return (
    <div className="grid min-h-0 items-start gap-3 lg:grid-cols-[16rem_minmax(0,1fr)_minmax(0,1fr)]">
      <RowList
        rows={rows}
        one={one.steps}
        other={other.steps}
        cut={{ one: cutOf(one.trajectory.turns) !== null, other: cutOf(other.trajectory.turns) !== null }}
        at={at}
        parts={parts}
        onRow={go}
      />
      <Column name="First" side={one} index={here ? here.one : one.steps.length} rival={other.trajectory} />
      <Column name="Second" side={other} index={here ? here.other : other.steps.length} rival={one.trajectory} />
    </div>
  );
}

function Column({
  name,
  side: { trajectory, steps },
  index,
  rival,
}: {
  name: string;
  side: Side;
  /** Of the step that is shown: null where only the other episode has one, as many as there are for the end. */
  index: number | null;
  rival: TrajectoryDetail;
}) {
  const [scorer] = useState(() => scorersOf(steps).at(-1) ?? null);
  const cut = cutOf(trajectory.turns);
  const behind = index !== null && index >= steps.length;
  const atEnd = behind && cut === null;
  const step = index === null ? undefined : steps[index];
  const image = atEnd ? trajectory.final_image : step?.image;
  const { marks } = marksOf(step?.actions ?? [], index === null ? null : pointerBefore(steps, index));
  return (
    <section className="panel flex min-w-0 flex-col overflow-hidden" aria-label={name}>
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2">
        <OutcomeMark trajectory={trajectory} />
        <Link
          className="link min-w-0 flex-1 truncate"
          to="/trajectories/$id"
          params={{ id: trajectory.id }}
          search={{ step: atEnd ? "end" : (index ?? undefined) }}
        >
          <PolicyName id={trajectory.policy_id} />
        </Link>
        <span className="text-muted">
          {counted(trajectory.turns, "turn")}
          {trajectory.seed === rival.seed ? "" : ` · seed ${trajectory.seed}`}
        </span>
        {cut === null ? null : <p className="w-full text-warn">{cut}</p>}
      </header>
      <div className="flex h-72 min-w-0 flex-col bg-raised/60 p-2 lg:h-[max(18rem,calc(60dvh-10rem))]">
        {image ? (
          <Screen image={image} marks={marks} zoom="fit" pixelated alt={`${name}: ${index === null || atEnd ? "the end" : `step ${index}`}`} />
        ) : (
          <p className="m-auto text-muted">
            {index === null ? "No step here." : behind && !atEnd ? "Not compared." : "No screen was kept."}
          </p>
        )}
      </div>
      <h2 className="border-y border-line px-3 py-2 font-semibold">
        {index === null ? "–" : atEnd ? "End" : behind ? `From step ${index} on` : `Step ${index}`}
      </h2>
      {step ? <StepDetail step={step} scorer={scorer} /> : atEnd ? <EndDetail trajectory={trajectory} /> : null}
    </section>
  );
}
