/** Success before and after each training phase, on seeds used for nothing else. */

import type { EvaluationRow } from "../api/words";
import { count } from "../format/numbers";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Empty } from "../parts/Notice";
import { RateBar } from "./RateBar";

const RATE = { className: "max-sm:text-right" };

const column = columnsOf<EvaluationRow>();
const columns = column.columns([
  column.accessor("label", { header: "Policy", meta: { className: "font-medium whitespace-nowrap" } }),
  column.display({
    id: "sampled",
    header: "Sampled",
    meta: RATE,
    cell: ({ row }) => <RateBar rate={row.original.sampled} />,
  }),
  column.display({
    id: "greedy",
    header: "Greedy",
    meta: RATE,
    cell: ({ row }) => <RateBar rate={row.original.greedy} />,
  }),
  column.display({
    id: "measured",
    header: "Measured on",
    meta: { className: "text-right text-muted whitespace-nowrap max-md:hidden" },
    cell: ({ row }) => count(row.original.sampled?.episodes ?? row.original.greedy?.episodes),
  }),
  column.accessor((row) => count(row.training_episodes), {
    id: "episodes",
    header: "Episodes trained on",
    meta: { className: "text-right whitespace-nowrap max-sm:hidden" },
  }),
  column.accessor((row) => (row.minutes === null ? "–" : row.minutes.toFixed(1)), {
    id: "minutes",
    header: "Minutes",
    meta: { className: "text-right" },
  }),
]);

export function ResultTable({ rows, going }: { rows: EvaluationRow[]; going: boolean }) {
  if (rows.length === 0) {
    return (
      <Empty title={going ? "Not measured yet" : "Nothing was measured"}>
        {going ? "A line appears as each evaluation on unseen seeds ends." : null}
      </Empty>
    );
  }
  return <DataTable label="Results" columns={columns} rows={rows} rowId={(row) => row.label} />;
}
