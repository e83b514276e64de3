/** Kept policies, each a way to where it comes from. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { policiesQuery } from "../api/queries";
import type { Policy } from "../api/words";
import { count } from "../format/numbers";
import { Ago } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { usePolicyNames } from "../parts/PolicyName";

const SHOWN = 12;

const column = columnsOf<Policy>();
const columns = column.columns([
  column.display({
    id: "id",
    header: "Policy",
    cell: ({ row }) => <Kept policy={row.original} />,
  }),
  column.display({
    id: "made",
    header: "Made",
    meta: { className: "text-right text-muted whitespace-nowrap" },
    cell: ({ row }) => <Ago atS={row.original.created_at_s} />,
  }),
]);

function Kept({ policy: original }: { policy: Policy }) {
  const name = usePolicyNames().get(original.id);
  return (
      <>
        <Link
          className="link font-medium break-all"
          to="/flywheel"
          search={{ policy: original.id }}
          resetScroll={false}
        >
          {name ?? original.id}
        </Link>
        {original.promoted ? <span className="ml-2 text-good">promoted</span> : null}
        {original.metadata.reward_model === true ? (
          <span className="ml-2 text-muted">process reward model: it scores, and does not act</span>
        ) : null}
        {name === undefined ? null : <span className="block text-xs break-all text-muted">{original.id}</span>}
      </>
  );
}

export function Policies() {
  const policies = useQuery(policiesQuery);
  const [all, setAll] = useState(false);
  const rows = useMemo(
    () => (all ? policies.data : policies.data?.slice(0, SHOWN)) ?? [],
    [policies.data, all],
  );
  return (
    <Panel
      title="Policies"
      beside={<span className="text-xs text-muted">{count(policies.data?.length)}</span>}
    >
      {policies.isLoadingError ? (
        <Failed error={policies.error} again={() => void policies.refetch()} />
      ) : policies.isPending ? (
        <Loading rows={4} label="Loading policies" />
      ) : rows.length === 0 ? (
        <Empty title="No policy yet">A round makes the first.</Empty>
      ) : (
        <>
          <DataTable label="Policies" columns={columns} rows={rows} rowId={(one) => one.id} />
          {policies.data.length > rows.length ? (
            <div className="border-t border-line p-2 text-center">
              <button type="button" className="button" onClick={() => setAll(true)}>
                Show all {count(policies.data.length)}
              </button>
            </div>
          ) : null}
        </>
      )}
    </Panel>
  );
}
