/** Several rounds in one chart, and their results below one another. */

import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";

import { over, roundQuery, roundsQuery } from "../api/queries";
import type { Round, RoundSummary } from "../api/words";
import { useEvents } from "../live/useEvents";
import { More } from "../parts/More";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { StateMark } from "../parts/StateMark";
import { compared, MEASURES, MOST, trainingRun } from "./comparing";
import { ResultTable } from "./ResultTable";
import { RoundsNav } from "./RoundsNav";

const route = getRouteApi("/rounds/compare");
const Curve = lazy(() => import("./Curve").then((module) => ({ default: module.Curve })));

export function CompareRoundsPage() {
  const { ids, measure: named } = route.useSearch();
  const navigate = route.useNavigate();
  const loaded = useQueries({ queries: ids.map((id) => roundQuery(id)) });
  const rounds = loaded.flatMap((one) => one.data ?? []);
  const runs = rounds.flatMap((round) => trainingRun(round) ?? []).map((run) => `run:${run}`);
  const told = useEvents(
    runs,
    rounds.some((round) => !over(round.state)),
  );
  const measure = MEASURES.find((one) => one.name === named) ?? MEASURES[0];
  const lost = ids.flatMap((id, at) => (loaded[at]?.isLoadingError ? [{ id, found: loaded[at] }] : []));
  if (measure === undefined) return null;
  const { chart, points } = compared(measure, rounds, told.events);
  const toggle = (id: number, taken: boolean) =>
    void navigate({
      search: (now) => ({ ...now, ids: taken ? [...now.ids, id] : now.ids.filter((one) => one !== id) }),
      replace: true,
    });
  return (
    <Page title="Compare rounds" beside={<RoundsNav />}>
      <div className="grid items-start gap-3 lg:grid-cols-[17rem_minmax(0,1fr)]">
        <Panel title="Rounds" beside={<span className="text-xs text-muted">up to {MOST}</span>}>
          <Choices chosen={ids} onToggle={toggle} />
        </Panel>
        <div className="flex min-w-0 flex-col gap-3">
          <Panel
            title="Curves"
            beside={
              <label className="flex items-center gap-2">
                <span className="label">Measure</span>
                <select
                  className="field w-auto"
                  value={measure.name}
                  onChange={(event) =>
                    void navigate({
                      search: (now) => ({ ...now, measure: event.target.value }),
                      replace: true,
                    })
                  }
                >
                  {MEASURES.map((one) => (
                    <option key={one.name} value={one.name}>
                      {one.label}
                    </option>
                  ))}
                </select>
              </label>
            }
          >
            {ids.length === 0 ? (
              <Empty title="No round chosen">Choose the rounds whose curves you want over one another.</Empty>
            ) : points.length === 0 && told.error ? (
              <Failed error={told.error} again={told.again} />
            ) : points.length === 0 && (told.loading || loaded.some((one) => one.isPending)) ? (
              <Loading rows={5} label="Loading curves" />
            ) : rounds.length === 0 ? (
              <Empty title="None of these rounds could be had" />
            ) : points.length === 0 ? (
              <Empty title="No curve yet">None of these rounds has told of this measure.</Empty>
            ) : (
              <Suspense fallback={<Loading rows={5} label="Loading curves" />}>
                <Curve chart={chart} points={points} height={300} />
              </Suspense>
            )}
          </Panel>
          {lost.map(({ id, found }) => (
            <Panel key={id} title={`Round ${id}`}>
              <Failed error={found.error} again={() => void found.refetch()} />
            </Panel>
          ))}
          {rounds.map((round) => (
            <Result key={round.id} round={round} />
          ))}
        </div>
      </div>
    </Page>
  );
}

function Result({ round }: { round: Round }) {
  return (
    <Panel
      title={
        <Link className="hover:underline" to="/rounds/$id" params={{ id: String(round.id) }}>
          Round {round.id} · {round.preset}
        </Link>
      }
      beside={<StateMark state={round.state} />}
    >
      <ResultTable rows={round.rows} going={!over(round.state)} />
    </Panel>
  );
}

function Choices({
  chosen,
  onToggle,
}: {
  chosen: readonly number[];
  onToggle: (id: number, taken: boolean) => void;
}) {
  const list = useInfiniteQuery(roundsQuery);
  const rounds = list.data?.pages.flatMap((page) => page.items) ?? [];
  if (list.isError && rounds.length === 0) {
    return <Failed error={list.error} again={() => void list.refetch()} />;
  }
  if (list.isPending) return <Loading label="Loading rounds" />;
  // those of an address that are further down, or not there at all, can be left out all the same
  const others = chosen.filter((id) => !rounds.some((round) => round.id === id)).map((id) => ({ id }));
  const choices: ({ id: number } & Partial<RoundSummary>)[] = [...others, ...rounds];
  if (choices.length === 0) return <Empty title="No round yet" />;
  return (
    <fieldset className="flex max-h-[70dvh] flex-col overflow-y-auto py-1">
      <legend className="sr-only">Rounds to compare</legend>
      {choices.map((round) => {
        const taken = chosen.includes(round.id);
        return (
          <label key={round.id} className="flex items-center gap-2 px-3 py-1.5 hover:bg-raised">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={taken}
              disabled={!taken && chosen.length >= MOST}
              onChange={(event) => onToggle(round.id, event.target.checked)}
            />
            {round.state ? <StateMark state={round.state} bare /> : <span aria-hidden className="w-3.5" />}
            <span className="font-medium">#{round.id}</span>
            <span className="truncate text-muted">{round.preset}</span>
          </label>
        );
      })}
      <More more={list.hasNextPage} onMore={() => list.fetchNextPage({ throwOnError: true })} />
    </fieldset>
  );
}
