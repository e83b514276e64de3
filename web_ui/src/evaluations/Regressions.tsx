/** Two policies on what both were measured on: what got worse stands first. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { policyChoicesQuery } from "../api/queries";
import type { Comparison } from "../api/words";
import { percent } from "../format/numbers";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { PolicyOptions } from "../parts/PolicyOptions";
import { comparisonQuery } from "./queries";

const route = getRouteApi("/tasks/evaluations");

const VERDICTS = {
  worse: { sign: "▼", colour: "text-bad" },
  better: { sign: "▲", colour: "text-good" },
  unclear: { sign: "≈", colour: "text-muted" },
} as const;

function points(share: number): string {
  return `${share > 0 ? "+" : ""}${(share * 100).toFixed(0)}`;
}

const compared = columnsOf<Comparison>();
const comparedColumns = compared.columns([
  compared.display({
    id: "verdict",
    header: "Verdict",
    cell: ({ row }) => {
      const { sign, colour } = VERDICTS[row.original.verdict];
      return (
        <span className={`font-medium whitespace-nowrap ${colour}`}>
          <span aria-hidden>{sign}</span> {row.original.verdict}
        </span>
      );
    },
  }),
  compared.display({
    id: "task",
    header: "Task",
    cell: ({ row: { original } }) => (
      <>
        <span className="break-words">
          {original.task.startsWith("all: ") ? "all together" : original.task}
        </span>{" "}
        <span className="text-xs text-muted">
          {original.mode}, {original.split}
        </span>
      </>
    ),
  }),
  compared.accessor((row) => `${percent(row.old.success, 0)} → ${percent(row.new.success, 0)}`, {
    id: "rates",
    header: "Success",
    meta: { className: "text-right whitespace-nowrap" },
  }),
  compared.display({
    id: "difference",
    header: "Difference",
    meta: { className: "text-right whitespace-nowrap text-muted max-sm:hidden" },
    cell: ({ row: { original } }) => `${points(original.low)} to ${points(original.high)} points`,
  }),
]);

export function Regressions() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const policies = useQuery(policyChoicesQuery);
  const found = useQuery(comparisonQuery(search));
  const both = Boolean(search.old && search.new);
  return (
    <Panel title="What got worse">
      <div className="grid grid-cols-2 gap-3 p-3">
        {(["old", "new"] as const).map((side) => (
          <label key={side} className="flex min-w-0 flex-col gap-1">
            <span className="label">{side === "old" ? "Old policy" : "New policy"}</span>
            <select
              className="field"
              value={search[side] ?? ""}
              onChange={(event) =>
                void navigate({
                  search: { ...search, [side]: event.target.value || undefined },
                  replace: true,
                })
              }
            >
              <option value="">{policies.data?.length === 0 ? "None kept yet" : "Choose one"}</option>
              <PolicyOptions policies={policies.data} />
            </select>
          </label>
        ))}
      </div>
      {policies.isLoadingError ? (
        <Failed error={policies.error} again={() => void policies.refetch()} />
      ) : !both ? (
        <p className="px-3 pb-4 text-muted">
          Choose two policies that were measured on the same tasks; what got worse stands first.
        </p>
      ) : found.isLoadingError ? (
        <Failed error={found.error} again={() => void found.refetch()} />
      ) : found.isPending ? (
        <Loading rows={3} label="Comparing" />
      ) : found.data.length === 0 ? (
        <p className="px-3 pb-4 text-muted">No task was measured with both. Measure them on one suite.</p>
      ) : (
        <DataTable
          label="What got worse"
          columns={comparedColumns}
          rows={found.data}
          rowId={(one) => `${one.task} ${one.mode} ${one.split}`}
        />
      )}
    </Panel>
  );
}
