/** Who did what, newest first. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo, useState } from "react";

import { auditQuery, type AuditFilter } from "../api/queries";
import type { AuditEntry } from "../api/words";
import { zoned } from "../format/times";
import { columnsOf, DataTable } from "../parts/DataTable";
import { More } from "../parts/More";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";

const column = columnsOf<AuditEntry>();
const columns = column.columns([
  column.display({
    id: "when",
    header: "When",
    meta: { className: "text-muted whitespace-nowrap max-sm:hidden" },
    cell: ({ row }) => zoned(row.original.at_s),
  }),
  column.display({
    id: "who",
    header: "Who",
    cell: ({ row: { original: entry } }) => (
      <span className="flex flex-col">
        <span className="font-medium">{entry.who === "" ? "nobody known" : entry.who}</span>
        <span className="text-xs text-muted">{entry.source}</span>
        <span className="text-xs text-muted sm:hidden">{zoned(entry.at_s)}</span>
      </span>
    ),
  }),
  column.display({
    id: "what",
    header: "What",
    cell: ({ row: { original: entry } }) => (
      <span className="flex min-w-0 flex-col">
        <span className="font-mono text-xs break-all">{entry.action}</span>
        <span className="text-xs break-all text-muted">{besides(entry)}</span>
      </span>
    ),
  }),
  column.display({
    id: "result",
    header: "Result",
    meta: { className: "text-right whitespace-nowrap" },
    cell: ({ row: { original: entry } }) => (
      <span className={entry.status < 400 ? "text-good" : "text-bad"}>
        <span className="max-sm:sr-only">{entry.status < 400 ? "done" : "refused"}</span> {entry.status}
      </span>
    ),
  }),
]);

/** What the action does not say already: its target where that is one of many, and the detail. */
function besides({ action, target, detail }: AuditEntry): string {
  return [action.endsWith(` ${target}`) ? "" : target, detail].filter((part) => part !== "").join(" · ");
}

export function AuditPanel() {
  const [user, setUser] = useState("");
  const [action, setAction] = useState("");
  const [result, setResult] = useState("");
  const typed = useMemo<AuditFilter>(
    () => ({
      ...(user.trim() === "" ? {} : { user: user.trim() }),
      ...(action.trim() === "" ? {} : { action: action.trim() }),
      ...(result === "" ? {} : { refused: result === "refused" }),
    }),
    [user, action, result],
  );
  const filter = useDeferredValue(typed);
  const list = useInfiniteQuery(auditQuery(filter));
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel title="Audit log">
      <div className="grid grid-cols-2 gap-2 border-b border-line p-2 sm:grid-cols-[12rem_1fr_10rem]">
        <input
          className="field"
          type="search"
          aria-label="Who"
          placeholder="Who"
          autoCapitalize="none"
          value={user}
          onChange={(event) => setUser(event.target.value)}
        />
        <input
          className="field max-sm:order-last max-sm:col-span-2"
          type="search"
          aria-label="What"
          placeholder="What, e.g. DELETE or /v1/tasks"
          value={action}
          onChange={(event) => setAction(event.target.value)}
        />
        <select
          className="field"
          aria-label="Result"
          value={result}
          onChange={(event) => setResult(event.target.value)}
        >
          <option value="">Done or refused</option>
          <option value="done">Done</option>
          <option value="refused">Refused</option>
        </select>
      </div>
      {list.isError && rows.length === 0 ? (
        <Failed error={list.error} again={() => void list.refetch()} />
      ) : list.isPending ? (
        <Loading rows={6} label="Loading the audit log" />
      ) : rows.length === 0 ? (
        <Empty title="Nothing of that kind was done" />
      ) : (
        <>
          <DataTable label="Audit log" columns={columns} rows={rows} rowId={(row) => String(row.id)} />
          <More
            key={JSON.stringify(filter)}
            more={list.hasNextPage}
            onMore={() => list.fetchNextPage({ throwOnError: true })}
          />
        </>
      )}
    </Panel>
  );
}
