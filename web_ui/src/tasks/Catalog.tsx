/** The tasks the environments bring. */

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { catalogQuery } from "../api/queries";
import type { CatalogTask } from "../api/words";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { notLent } from "./submission";

const KINDS = {
  all: { label: "All", holds: () => true },
  lent: { label: "Workable here", holds: (task) => task.lent },
  oracle: { label: "With oracle", holds: (task) => task.oracle },
  "held out": { label: "Held out", holds: (task) => task.held_out },
} satisfies Record<string, { label: string; holds: (task: CatalogTask) => boolean }>;
type Kind = keyof typeof KINDS;

const column = columnsOf<CatalogTask>();

export function Catalog({ chosen, onChoose }: { chosen: string | null; onChoose: (id: string) => void }) {
  const catalog = useQuery(catalogQuery);
  const [part, setPart] = useState("");
  const [kind, setKind] = useState<Kind>("all");
  const rows = useMemo(() => select(catalog.data ?? [], part, kind), [catalog.data, part, kind]);
  const columns = useMemo(
    () =>
      column.columns([
        column.display({
          id: "id",
          header: "Task",
          cell: ({ row }) => (
            <>
              <button
                type="button"
                className={`text-left font-medium hover:underline ${row.original.id === chosen ? "text-accent" : ""}`}
                aria-pressed={row.original.id === chosen}
                onClick={() => onChoose(row.original.id)}
              >
                {row.original.id}
              </button>
              {row.original.lent ? null : (
                <span className="ml-2 text-xs text-muted" title={notLent(row.original.kind)}>
                  not lent here
                </span>
              )}
            </>
          ),
        }),
        column.accessor("turns", {
          header: "Turns",
          meta: { className: "text-right" },
        }),
        column.display({
          id: "oracle",
          header: "Oracle",
          meta: { className: "text-center" },
          cell: ({ row }) =>
            row.original.oracle ? <span title="A scripted policy solves it">✓</span> : null,
        }),
        column.display({
          id: "held-out",
          header: "Held out",
          meta: { className: "text-center" },
          cell: ({ row }) => (row.original.held_out ? <span title="Never used for training">●</span> : null),
        }),
      ]),
    [chosen, onChoose],
  );
  return (
    <Panel
      title="Catalog"
      beside={
        <span className="text-xs text-muted">
          {catalog.data ? `${rows.length} of ${catalog.data.length}` : ""}
        </span>
      }
    >
      <div className="flex gap-2 border-b border-line p-2">
        <input
          type="search"
          className="field"
          aria-label="Search tasks"
          placeholder="Search tasks"
          value={part}
          onChange={(event) => setPart(event.target.value)}
        />
        <select
          aria-label="Kind of task"
          className="field w-32 shrink-0"
          value={kind}
          onChange={(event) => setKind(event.target.value as Kind)}
        >
          {Object.entries(KINDS).map(([value, { label }]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {catalog.isLoadingError ? (
        <Failed error={catalog.error} again={() => void catalog.refetch()} />
      ) : catalog.isPending ? (
        <Loading rows={10} label="Loading the catalog" />
      ) : rows.length === 0 ? (
        <Empty title="No task matches" />
      ) : (
        <div className="max-h-96 overflow-y-auto lg:max-h-[calc(100dvh-13rem)]">
          <DataTable label="Catalog" columns={columns} rows={rows} rowId={(row) => row.id} />
        </div>
      )}
    </Panel>
  );
}

/** Those that can be worked here come first, each by id. */
function select(tasks: readonly CatalogTask[], part: string, kind: Kind): CatalogTask[] {
  const wanted = part.trim().toLowerCase();
  const found = tasks.filter((task) => task.id.toLowerCase().includes(wanted) && KINDS[kind].holds(task));
  return found.sort((one, other) => Number(other.lent) - Number(one.lent));
}
