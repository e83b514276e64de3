/** Datasets, the one that is chosen with its recipe and where it comes from. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import type { Dataset, DatasetKind } from "../api/words";
import { count, percent } from "../format/numbers";
import { Ago } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { usePolicyNames } from "../parts/PolicyName";
import { May } from "../shell/May";
import { LineageGraph } from "./LineageGraph";
import { datasetsQuery, lineageQuery } from "./queries";
import type { FlywheelSearch } from "./search";

export const KINDS: Record<DatasetKind, string> = {
  sft: "imitation",
  continued_pretraining: "continued pretraining",
  rl_pool: "reinforcement pool",
  early_experience: "early experience",
};
const SHOWN = 12;

const column = columnsOf<Dataset>();
const columns = column.columns([
  column.display({
    id: "name",
    header: "Dataset",
    cell: ({ row: { original } }) => (
      <Link
        className="link font-medium"
        to="/flywheel"
        search={{ dataset: versioned(original) }}
        resetScroll={false}
      >
        {versioned(original)}
      </Link>
    ),
  }),
  column.accessor((row) => KINDS[row.kind], {
    id: "kind",
    header: "For",
    meta: { className: "max-sm:hidden" },
  }),
  column.accessor((row) => count(row.trajectories), {
    id: "trajectories",
    header: "Episodes",
    meta: { className: "text-right" },
  }),
  column.accessor((row) => (row.trajectories ? percent(row.successes / row.trajectories, 0) : "–"), {
    id: "successes",
    header: "Succeeded",
    meta: { className: "text-right max-sm:hidden" },
  }),
  column.display({
    id: "made",
    header: "Made",
    meta: { className: "text-right text-muted whitespace-nowrap" },
    cell: ({ row }) => <Ago atS={row.original.created_at_s} />,
  }),
]);

export function versioned(dataset: Pick<Dataset, "name" | "version">): string {
  return `${dataset.name}@${dataset.version}`;
}

export function Datasets() {
  const datasets = useQuery(datasetsQuery);
  const [all, setAll] = useState(false);
  const rows = useMemo(
    () => (all ? datasets.data : datasets.data?.slice(0, SHOWN)) ?? [],
    [datasets.data, all],
  );
  return (
    <Panel
      title="Datasets"
      beside={<span className="text-xs text-muted">{count(datasets.data?.length)}</span>}
    >
      {datasets.isLoadingError ? (
        <Failed error={datasets.error} again={() => void datasets.refetch()} />
      ) : datasets.isPending ? (
        <Loading rows={4} label="Loading datasets" />
      ) : rows.length === 0 ? (
        <Empty title="No dataset yet">
          Rounds make them of what they collect
          <May scope="datasets:write">, and so does “Route episodes”</May>.
        </Empty>
      ) : (
        <>
          <DataTable label="Datasets" columns={columns} rows={rows} rowId={versioned} />
          {datasets.data.length > rows.length ? (
            <div className="border-t border-line p-2 text-center">
              <button type="button" className="button" onClick={() => setAll(true)}>
                Show all {count(datasets.data.length)}
              </button>
            </div>
          ) : null}
        </>
      )}
    </Panel>
  );
}

export function Origin({ chosen }: { chosen: FlywheelSearch }) {
  const datasets = useQuery(datasetsQuery);
  const lineage = useQuery(lineageQuery(chosen));
  const dataset = datasets.data?.find((one) => versioned(one) === chosen.dataset);
  const names = usePolicyNames();
  const name = chosen.dataset ?? (chosen.policy && (names.get(chosen.policy) ?? chosen.policy));
  if (name === undefined) return null;
  return (
    <Panel
      title={`Where ${name} comes from`}
      beside={
        <Link
          className="button button-bare h-7"
          to="/flywheel"
          search={{}}
          aria-label="Close"
          resetScroll={false}
        >
          ✕
        </Link>
      }
    >
      {lineage.isLoadingError ? (
        <Failed error={lineage.error} again={() => void lineage.refetch()} />
      ) : lineage.data ? (
        <LineageGraph root={lineage.data} />
      ) : (
        <Loading rows={3} label="Loading the lineage" />
      )}
      {dataset ? <Recipe dataset={dataset} /> : null}
    </Panel>
  );
}

function Recipe({ dataset }: { dataset: Dataset }) {
  return (
    <details className="border-t border-line px-3 py-2">
      <summary className="cursor-pointer text-muted">Recipe</summary>
      <pre className="mt-2 overflow-x-auto rounded bg-raised p-3 font-mono text-xs" tabIndex={0}>
        {JSON.stringify(dataset.recipe, null, 2)}
      </pre>
    </details>
  );
}
