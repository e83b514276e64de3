/** What owners have and may have at once. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { answer, api } from "../api/client";
import { quotasQuery } from "../api/queries";
import type { Usage } from "../api/words";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Field } from "../parts/Field";
import { FormDialog } from "../parts/FormDialog";
import { Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { KINDS, readLimit, share, typedLimit, type Kind } from "./amounts";

const column = columnsOf<Usage>();

export function QuotasPanel({ mine = false }: { mine?: boolean }) {
  const quotas = useQuery(quotasQuery);
  const [editing, setEditing] = useState<Usage | null>(null);
  const columns = useMemo(
    () =>
      column.columns([
        column.display({
          id: "owner",
          header: "Owner",
          meta: { className: "min-w-20" },
          cell: ({ row }) => (
            <span className="font-medium [overflow-wrap:anywhere]">{row.original.owner}</span>
          ),
        }),
        ...KINDS.map((kind) =>
          column.display({
            id: kind,
            header: LABELS[kind],
            meta: { className: "text-right" },
            cell: ({ row: { original: usage } }) => (
              <span className={usage.set_here[kind] === null ? "" : "font-semibold"}>
                {share(kind, usage[kind], usage.limits[kind])}
              </span>
            ),
          }),
        ),
        column.display({
          id: "edit",
          header: () => <span className="sr-only">Change</span>,
          meta: { className: mine ? "hidden" : "text-right" },
          cell: ({ row: { original: usage } }) => (
            <button
              type="button"
              className="button button-bare h-7"
              aria-label={`Limits of ${usage.owner}`}
              onClick={() => setEditing(usage)}
            >
              Limits
            </button>
          ),
        }),
      ]),
    [mine],
  );
  return (
    <Panel
      title="Quotas"
      beside={
        <span className="text-xs text-muted">
          {mine ? "what you have, of what you may have" : "bold: set here; else the settings’ default"}
        </span>
      }
    >
      {quotas.isLoadingError ? (
        <Failed error={quotas.error} again={() => void quotas.refetch()} />
      ) : quotas.isPending ? (
        <Loading rows={3} label="Loading quotas" />
      ) : (
        <DataTable label="Quotas" columns={columns} rows={quotas.data} rowId={(row) => row.owner} />
      )}
      {editing ? <EditLimits usage={editing} onDone={() => setEditing(null)} /> : null}
    </Panel>
  );
}

const LABELS: Record<Kind, string> = { tasks: "Tasks", sandboxes: "Sandboxes", bytes: "Stored" };
const HINTS: Record<Kind, string> = {
  tasks: "queued and running",
  sandboxes: "at once; tasks beyond it wait",
  bytes: "bytes of their episodes' pictures, trees and outputs, e.g. 50 GB",
};

function EditLimits({ usage, onDone }: { usage: Usage; onDone: () => void }) {
  const [typed, setTyped] = useState<Record<Kind, string>>({
    tasks: typedLimit("tasks", usage.set_here.tasks),
    sandboxes: typedLimit("sandboxes", usage.set_here.sandboxes),
    bytes: typedLimit("bytes", usage.set_here.bytes),
  });
  const client = useQueryClient();
  const read = {
    tasks: readLimit(typed.tasks),
    sandboxes: readLimit(typed.sandboxes),
    bytes: readLimit(typed.bytes),
  };
  const send = useMutation({
    mutationFn: () =>
      answer(
        api.PUT("/v1/quotas/{name}", {
          params: { path: { name: usage.owner } },
          body: { tasks: read.tasks ?? null, sandboxes: read.sandboxes ?? null, bytes: read.bytes ?? null },
        }),
      ),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["quotas"] });
      onDone();
    },
  });
  return (
    <FormDialog
      open
      onOpen={onDone}
      title={`Limits of ${usage.owner}`}
      action="Set the limits"
      busy={send.isPending}
      ready={KINDS.every((kind) => read[kind] !== undefined)}
      error={send.error}
      onSubmit={() => send.mutate()}
    >
      {KINDS.map((kind) => (
        <Field key={kind} label={LABELS[kind]} hint={`${HINTS[kind]}; empty: the settings’ default`}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              inputMode={kind === "bytes" ? "text" : "numeric"}
              value={typed[kind]}
              aria-invalid={read[kind] === undefined}
              onChange={(event) => setTyped({ ...typed, [kind]: event.target.value })}
            />
          )}
        </Field>
      ))}
    </FormDialog>
  );
}
