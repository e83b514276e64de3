/** The list itself: only the rows on the screen exist, and the next page is fetched before its rows are reached. */

import { Link, useLocation } from "@tanstack/react-router";
import { createColumnHelper, useTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";

import type { TrajectorySummary } from "../api/words";
import { counted, figure } from "../format/numbers";
import { Ago, Lasted } from "../parts/Ago";
import { features } from "../parts/DataTable";
import { Failed } from "../parts/Notice";
import { PolicyName } from "../parts/PolicyName";
import { useNarrow } from "../parts/useNarrow";
import { OutcomeMark } from "./OutcomeMark";
import { Thumbnail } from "./Thumbnail";

const ROW_PX = 36;
const NARROW_ROW_PX = 62;
const AHEAD = 30;
/** How far down lists were left, by the entry of the browser's history: Back finds one as it was. */
const left = new Map<string, number>();

const column = createColumnHelper<typeof features, TrajectorySummary>();
const columns = column.columns([
  column.display({
    id: "screen",
    header: () => <span className="sr-only">Last screen</span>,
    meta: { className: "w-16 shrink-0 pr-0" },
    cell: ({ row }) => <Thumbnail trajectory={row.original} />,
  }),
  column.display({
    id: "outcome",
    header: "Outcome",
    meta: { className: "w-28 shrink-0" },
    cell: ({ row }) => <OutcomeMark trajectory={row.original} />,
  }),
  column.display({
    id: "task",
    header: "Task",
    meta: { className: "w-64 shrink-0 max-xl:w-48" },
    cell: ({ row }) => (
      <Link
        className="font-medium after:absolute after:inset-0 hover:underline"
        to="/trajectories/$id"
        params={{ id: row.original.id }}
      >
        {row.original.task_id}
      </Link>
    ),
  }),
  column.accessor("seed", { header: "Seed", meta: { className: "w-20 shrink-0 text-right text-muted" } }),
  column.accessor("instruction", { header: "Instruction", meta: { className: "min-w-0 flex-1 text-muted" } }),
  column.display({
    id: "policy",
    header: "Policy",
    meta: { className: "w-36 shrink-0 max-lg:hidden" },
    cell: ({ row }) => <PolicyName id={row.original.policy_id} />,
  }),
  column.accessor((row) => row.labels.purpose ?? "–", {
    id: "purpose",
    header: "Purpose",
    meta: { className: "w-32 shrink-0 max-md:hidden" },
  }),
  column.accessor("turns", { header: "Turns", meta: { className: "w-14 shrink-0 text-right" } }),
  column.accessor((row) => figure(row.score), {
    id: "score",
    header: "Score",
    meta: { className: "w-14 shrink-0 text-right max-md:hidden" },
  }),
  column.display({
    id: "took",
    header: "Took",
    meta: { className: "w-24 shrink-0 text-right max-lg:hidden" },
    // one without an end may run or have died with its process: its time so far would say nothing
    cell: ({ row: { original } }) =>
      original.ended_at_s === null ? (
        "–"
      ) : (
        <Lasted startS={original.started_at_s} endS={original.ended_at_s} />
      ),
  }),
  column.display({
    id: "began",
    header: "Began",
    meta: { className: "w-28 shrink-0 text-right text-muted" },
    cell: ({ row }) => <Ago atS={row.original.started_at_s} />,
  }),
]);

export function TrajectoryList({
  rows,
  low,
  more,
  error,
  onMore,
}: {
  rows: TrajectorySummary[];
  /** Leaves room for another row of filters. */
  low: boolean;
  more: boolean;
  error: unknown;
  onMore: () => void;
}) {
  const narrow = useNarrow();
  const scroll = useRef<HTMLDivElement>(null);
  const entry = useLocation({ select: ({ state, href }) => state.__TSR_key ?? href });
  const [down, setDown] = useState((left.get(entry) ?? 0) > 0);
  const table = useTable({ features, columns, data: rows, getRowId: (row) => row.id });
  // eslint-disable-next-line react-hooks/incompatible-library -- its functions are called in this component only
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => (narrow ? NARROW_ROW_PX : ROW_PX),
    overscan: 12,
    initialOffset: () => left.get(entry) ?? 0,
    // newer rows come above: who reads further down is not moved by them
    anchorTo: down ? "end" : "start",
    getItemKey: (index) => rows[index]?.id ?? index,
  });
  const shown = virtual.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? 0;

  useEffect(() => virtual.measure(), [narrow, virtual]);
  useEffect(() => {
    if (more && error === null && lastShown >= rows.length - AHEAD) onMore();
  }, [more, error, lastShown, rows.length, onMore]);

  const model = table.getRowModel().rows;
  return (
    <div
      ref={scroll}
      role="table"
      aria-label="Trajectories"
      aria-rowcount={more ? -1 : rows.length + 1}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop } }) => {
        left.set(entry, scrollTop);
        setDown(scrollTop > 0);
      }}
      className={`min-h-80 overflow-auto rounded-lg ${low ? "h-[calc(100dvh-29rem)] sm:h-[calc(100dvh-15.25rem)]" : "h-[calc(100dvh-20rem)] sm:h-[calc(100dvh-11.5rem)]"}`}
    >
      {narrow ? null : (
        <div role="rowgroup" className="sticky top-0 z-10 bg-surface">
          {table.getHeaderGroups().map((group) => (
            <div
              key={group.id}
              role="row"
              className="flex h-8 items-center border-b border-line text-xs font-medium text-muted"
            >
              {group.headers.map((header) => (
                <div
                  key={header.id}
                  role="columnheader"
                  className={`px-3 ${header.column.columnDef.meta?.className ?? ""}`}
                >
                  <table.FlexRender header={header} />
                </div>
              ))}
            </div>
          ))}
        </div>
      )}
      <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
        {shown.map((item) => {
          const row = model[item.index];
          if (!row) return null;
          return (
            <div
              key={item.key}
              role="row"
              aria-rowindex={item.index + 2}
              className="absolute inset-x-0 top-0 border-b border-line hover:bg-raised"
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
            >
              {narrow ? (
                <NarrowRow trajectory={row.original} />
              ) : (
                <div className="relative flex h-full items-center">
                  {row.getAllCells().map((cell) => (
                    <div
                      key={cell.id}
                      role="cell"
                      className={`truncate px-3 ${cell.column.columnDef.meta?.className ?? ""}`}
                    >
                      <table.FlexRender cell={cell} />
                    </div>
                  ))}
                </div>
              )}
            </div>
          );
        })}
      </div>
      {error ? <Failed error={error} again={onMore} /> : null}
    </div>
  );
}

function NarrowRow({ trajectory }: { trajectory: TrajectorySummary }) {
  return (
    <div role="cell" className="h-full">
      <Link
        to="/trajectories/$id"
        params={{ id: trajectory.id }}
        className="flex h-full items-center gap-3 px-3"
      >
        <Thumbnail trajectory={trajectory} />
        <span className="flex min-w-0 flex-1 flex-col gap-0.5">
          <span className="flex items-center gap-2">
            <OutcomeMark trajectory={trajectory} bare />
            <span className="min-w-0 truncate font-medium">{trajectory.task_id}</span>
            <span className="text-muted">#{trajectory.seed}</span>
            <span className="ml-auto shrink-0 text-xs text-muted">
              <Ago atS={trajectory.started_at_s} />
            </span>
          </span>
          <span className="truncate pl-5.5 text-muted">
            {counted(trajectory.turns, "turn")} · {trajectory.instruction}
          </span>
        </span>
      </Link>
    </div>
  );
}
