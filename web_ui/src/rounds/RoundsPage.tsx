/** Every round, newest first. */

import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { roundQuery, roundsQuery } from "../api/queries";
import type { EvaluationRow, Rate, RoundSummary } from "../api/words";
import { Ago, Lasted } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { More } from "../parts/More";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page } from "../parts/Page";
import { StateMark } from "../parts/StateMark";
import { RateBar } from "./RateBar";
import { StartRoundDialog } from "./StartRoundDialog";

const route = getRouteApi("/rounds");

interface Line {
  round: RoundSummary;
  /** Its table so far; empty until it is known. */
  rows: readonly EvaluationRow[];
}

function Sampled({ when }: { when: string }) {
  return (
    <>
      {when}
      <span className="max-sm:sr-only">, sampled</span>
    </>
  );
}

const RATE = { className: "max-sm:text-right" };

const column = columnsOf<Line>();
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
          params={{ id: String(row.original.round.id) }}
          onClick={(event) => event.stopPropagation()}
        >
          #{row.original.round.id}
        </Link>
        <span className="sm:hidden">
          <StateMark state={row.original.round.state} bare />
        </span>
      </span>
    ),
  }),
  column.display({
    id: "state",
    header: "State",
    meta: { className: "w-32 max-sm:hidden" },
    cell: ({ row }) => <StateMark state={row.original.round.state} />,
  }),
  column.accessor((line) => line.round.preset, {
    id: "preset",
    header: "Preset",
    meta: { className: "whitespace-nowrap" },
  }),
  column.display({
    id: "before",
    header: () => <Sampled when="Before" />,
    meta: RATE,
    cell: ({ row }) => <RateBar rate={before(row.original.rows)} compact />,
  }),
  column.display({
    id: "after",
    header: () => <Sampled when="After" />,
    meta: RATE,
    cell: ({ row }) => <RateBar rate={after(row.original.rows)} compact />,
  }),
  column.display({
    id: "promoted",
    header: "Promoted",
    meta: { className: "max-md:hidden" },
    cell: ({ row: { original } }) =>
      original.round.promoted === null ? (
        <span className="text-faint">–</span>
      ) : original.round.promoted ? (
        <span className="text-good">yes</span>
      ) : (
        <span className="text-muted">no</span>
      ),
  }),
  column.display({
    id: "took",
    header: "Took",
    meta: { className: "text-right whitespace-nowrap max-sm:hidden" },
    cell: ({ row }) => (
      <Lasted startS={row.original.round.started_at_s} endS={row.original.round.ended_at_s} />
    ),
  }),
  column.display({
    id: "began",
    header: "Began",
    meta: { className: "text-right text-muted whitespace-nowrap max-sm:hidden" },
    cell: ({ row }) => <Ago atS={row.original.round.started_at_s ?? row.original.round.created_at_s} />,
  }),
]);

export function RoundsPage() {
  const list = useInfiniteQuery(roundsQuery);
  const rounds = list.data?.pages.flatMap((page) => page.items) ?? [];
  // the list has no figures: each round is asked for its own, once when it is over
  const details = useQueries({ queries: rounds.map((round) => roundQuery(round.id)) });
  const lines = rounds.map((round, position) => ({ round, rows: details[position]?.data?.rows ?? [] }));
  const navigate = route.useNavigate();
  const [starting, setStarting] = useState(false);

  const start = (
    <button type="button" className="button button-main" onClick={() => setStarting(true)}>
      Start a round
    </button>
  );
  return (
    <Page title="Rounds" actions={start}>
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
              rows={lines}
              rowId={(line) => String(line.round.id)}
              onRow={(line) => void navigate({ to: "/rounds/$id", params: { id: String(line.round.id) } })}
            />
            <More
              more={list.hasNextPage}
              busy={list.isFetchingNextPage}
              onMore={() => void list.fetchNextPage()}
            />
          </>
        )}
      </section>
      <StartRoundDialog open={starting} onOpen={setStarting} />
    </Page>
  );
}

function before(rows: readonly EvaluationRow[]): Rate | null {
  return rows[0]?.sampled ?? null;
}

/** The last measurement, once there are two. */
function after(rows: readonly EvaluationRow[]): Rate | null {
  return rows.length > 1 ? (rows.at(-1)?.sampled ?? null) : null;
}
