/** Every round, newest first. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { over, roundsQuery } from "../api/queries";
import type { RoundSummary } from "../api/words";
import { useEvents, useNews } from "../live/useEvents";
import { Ago, Lasted } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { More } from "../parts/More";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page } from "../parts/Page";
import { StateMark } from "../parts/StateMark";
import { May } from "../shell/May";
import { RateBar } from "./RateBar";
import { RoundsNav } from "./RoundsNav";

const route = getRouteApi("/rounds");

function Sampled({ when }: { when: string }) {
  return (
    <>
      {when}
      <span className="max-sm:sr-only">, sampled</span>
    </>
  );
}

/** Rounds followed at most: one runs at a time, and what waits longest begins next. */
const FOLLOWED = 50;
const RATE = { className: "max-sm:text-right" };

const column = columnsOf<RoundSummary>();
const columns = column.columns([
  column.display({
    id: "id",
    header: "Round",
    meta: { className: "sm:w-20" },
    cell: ({ row }) => (
      <span className="flex gap-1.5">
        <Link
          className="font-semibold hover:underline"
          to="/rounds/$id"
          params={{ id: String(row.original.id) }}
          onClick={(event) => event.stopPropagation()}
        >
          #{row.original.id}
        </Link>
        <span className="sm:hidden">
          <StateMark state={row.original.state} bare />
        </span>
      </span>
    ),
  }),
  column.display({
    id: "state",
    header: "State",
    meta: { className: "w-32 max-sm:hidden" },
    cell: ({ row }) => <StateMark state={row.original.state} />,
  }),
  column.accessor("preset", {
    header: "Preset",
    meta: { className: "whitespace-nowrap" },
  }),
  column.display({
    id: "before",
    header: () => <Sampled when="Before" />,
    meta: RATE,
    cell: ({ row }) => <RateBar rate={row.original.before?.sampled ?? null} compact />,
  }),
  column.display({
    id: "after",
    header: () => <Sampled when="After" />,
    meta: RATE,
    cell: ({ row }) => <RateBar rate={row.original.after?.sampled ?? null} compact />,
  }),
  column.display({
    id: "promoted",
    header: "Promoted",
    meta: { className: "max-md:hidden" },
    cell: ({ row: { original } }) =>
      original.promoted === null ? (
        <span className="text-faint">–</span>
      ) : original.promoted ? (
        <span className="text-good">yes</span>
      ) : (
        <span className="text-muted">no</span>
      ),
  }),
  column.display({
    id: "took",
    header: "Took",
    meta: { className: "text-right whitespace-nowrap max-sm:hidden" },
    cell: ({ row }) => <Lasted startS={row.original.started_at_s} endS={row.original.ended_at_s} />,
  }),
  column.display({
    id: "began",
    header: "Began",
    meta: { className: "text-right text-muted whitespace-nowrap max-sm:hidden" },
    cell: ({ row }) => <Ago atS={row.original.started_at_s ?? row.original.created_at_s} />,
  }),
]);

export function RoundsPage() {
  const list = useInfiniteQuery(roundsQuery);
  const rounds = list.data?.pages.flatMap((page) => page.items) ?? [];
  const client = useQueryClient();
  const going = rounds.filter((round) => !over(round.state)).map((round) => `round:${round.id}`);
  useNews(useEvents(going.slice(-FOLLOWED), true).events, () => {
    void client.invalidateQueries({ queryKey: roundsQuery.queryKey });
  });
  const navigate = route.useNavigate();

  const start = (
    <May scope="rounds:write">
      <Link className="button button-main" to="/rounds/new">
        Start a round
      </Link>
    </May>
  );
  return (
    <Page title="Rounds" beside={<RoundsNav />} actions={start}>
      <section className="panel">
        {list.isError && rounds.length === 0 ? (
          <Failed error={list.error} again={() => void list.refetch()} />
        ) : list.isPending ? (
          <Loading label="Loading rounds" />
        ) : rounds.length === 0 ? (
          <Empty title="No round yet">
            A round collects episodes, scores them, trains a policy on them and measures it on seeds it never
            saw.
          </Empty>
        ) : (
          <>
            <DataTable
              label="Rounds"
              columns={columns}
              rows={rounds}
              rowId={(round) => String(round.id)}
              onRow={(round) => void navigate({ to: "/rounds/$id", params: { id: String(round.id) } })}
            />
            <More more={list.hasNextPage} onMore={() => list.fetchNextPage({ throwOnError: true })} />
          </>
        )}
      </section>
    </Page>
  );
}
