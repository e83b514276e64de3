/** Which policy rounds start from, how that came to be, and changing it by hand with a reason. */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { policyChoicesQuery, promotionsQuery } from "../api/queries";
import type { Promotion } from "../api/words";
import { Ago } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Dialog } from "../parts/Dialog";
import { More } from "../parts/More";
import { Empty, Failed, Loading, Trouble } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { acting, policyLine } from "../parts/policies";
import { PolicyName, Told, usePolicyNames } from "../parts/PolicyName";
import { May } from "../shell/May";
import { RoundsNav } from "./RoundsNav";

const HOW: Record<Promotion["kind"], string> = {
  gate: "passed its round's gate",
  manual: "promoted by hand",
  rollback: "rolled back",
};

const column = columnsOf<Promotion>();
const columns = column.columns([
  column.display({
    id: "policy",
    header: "Policy",
    meta: { className: "min-w-32" },
    cell: ({ row: { original } }) => <Named id={original.policy_id} />,
  }),
  column.display({
    id: "how",
    header: "How",
    meta: { className: "whitespace-nowrap max-sm:hidden" },
    cell: ({ row: { original } }) =>
      original.round_id === null ? (
        HOW[original.kind]
      ) : (
        <Link className="link" to="/rounds/$id" params={{ id: String(original.round_id) }}>
          round {original.round_id}
        </Link>
      ),
  }),
  column.display({
    id: "reason",
    header: "Reason",
    meta: { className: "min-w-32 [overflow-wrap:anywhere]" },
    cell: ({ row }) => <Told text={row.original.reason} />,
  }),
  column.accessor("by", { header: "By", meta: { className: "text-muted max-sm:hidden" } }),
  column.display({
    id: "when",
    header: "When",
    meta: { className: "text-right text-muted whitespace-nowrap" },
    cell: ({ row }) => <Ago atS={row.original.at_s} />,
  }),
]);

/** The id too, where it says more: it is what the command line asks for. */
function Named({ id }: { id: string }) {
  const name = usePolicyNames().get(id);
  return (
    <span className="flex min-w-0 flex-col">
      <span className="font-medium break-all">{name ?? id}</span>
      {name === undefined ? null : <span className="text-xs break-all text-muted">{id}</span>}
    </span>
  );
}

export function PromotedPage() {
  const list = useInfiniteQuery(promotionsQuery);
  const promotions = list.data?.pages.flatMap((page) => page.items) ?? [];
  const [open, setOpen] = useState(false);
  const current = promotions[0];
  return (
    <Page
      title="Promoted policy"
      beside={<RoundsNav />}
      actions={
        <May scope="policies:write">
          <button type="button" className="button button-main" onClick={() => setOpen(true)}>
            Promote or roll back
          </button>
        </May>
      }
    >
      {current ? (
        <p data-testid="promoted">
          Rounds start from <span className="font-semibold break-all">
            <PolicyName id={current.policy_id} />
          </span>,{" "}
          {HOW[current.kind]} <Ago atS={current.at_s} />.
        </p>
      ) : null}
      <Panel title="History">
        {list.isError && promotions.length === 0 ? (
          <Failed error={list.error} again={() => void list.refetch()} />
        ) : list.isPending ? (
          <Loading label="Loading the history" />
        ) : promotions.length === 0 ? (
          <Empty title="Nothing was promoted yet">
            Rounds start from their preset&apos;s base until a round&apos;s policy passes its gate, or
            somebody promotes one.
          </Empty>
        ) : (
          <>
            <DataTable
              label="Promotions"
              columns={columns}
              rows={promotions}
              rowId={(one) => String(one.id)}
            />
            <More more={list.hasNextPage} onMore={() => list.fetchNextPage({ throwOnError: true })} />
          </>
        )}
      </Panel>
      <Dialog open={open} onOpen={setOpen} title="Promote or roll back">
        <PromoteForm
          earlier={new Set(promotions.map((one) => one.policy_id))}
          onClose={() => setOpen(false)}
        />
      </Dialog>
    </Page>
  );
}

function PromoteForm({ earlier, onClose }: { earlier: ReadonlySet<string>; onClose: () => void }) {
  const policies = useQuery(policyChoicesQuery);
  const client = useQueryClient();
  const [policy, setPolicy] = useState("");
  const [reason, setReason] = useState("");
  const promote = useMutation({
    mutationFn: () => answer(api.POST("/v1/promotions", { body: { policy_id: policy, reason } })),
    onSuccess: async () => {
      await Promise.all(
        ["promotions", "policies"].map((key) => client.invalidateQueries({ queryKey: [key] })),
      );
      onClose();
    },
  });
  if (policies.isLoadingError) return <Failed error={policies.error} again={() => void policies.refetch()} />;
  if (policies.isPending) return <Loading rows={4} label="Loading policies" />;
  const choices = acting(policies.data).filter((one) => !one.promoted);
  if (choices.length === 0) return <Empty title="No other policy is kept" />;
  const back = earlier.has(policy);
  return (
    <form
      className="flex flex-col gap-3 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        promote.mutate();
      }}
    >
      <label className="flex flex-col gap-1">
        <span className="label">Policy</span>
        <select className="field" required value={policy} onChange={(event) => setPolicy(event.target.value)}>
          <option value="">Choose one</option>
          {choices.map((one) => (
            <option key={one.id} value={one.id}>
              {policyLine(one)}
              {earlier.has(one.id) ? ", promoted before" : ""}
            </option>
          ))}
        </select>
      </label>
      <label className="flex flex-col gap-1">
        <span className="label">Reason</span>
        <textarea
          className="field h-auto py-1.5"
          rows={3}
          required
          maxLength={2000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <p className="text-muted">
        Every round that begins from now on starts from it; one that runs is not changed.
      </p>
      <Trouble error={promote.error} />
      <div className="flex justify-end gap-2">
        <button type="button" className="button" onClick={onClose}>
          Not now
        </button>
        <button
          type="submit"
          className="button button-main"
          disabled={promote.isPending || policy === "" || reason.trim() === ""}
        >
          {back ? "Roll back" : "Promote"}
        </button>
      </div>
    </form>
  );
}
