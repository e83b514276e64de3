/** API tokens, one's own or everybody's: make one, see what each is for, revoke. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { answer, api } from "../api/client";
import { infoQuery, tokensQuery } from "../api/queries";
import type { Token } from "../api/words";
import { Ago } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Confirm } from "../parts/Dialog";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { ShownOnce, type Secret } from "../parts/ShownOnce";
import { MakeToken } from "./MakeToken";
import { standing } from "./standing";

const column = columnsOf<Token>();

export function TokensPanel({ owner }: { owner: string }) {
  const tokens = useQuery(tokensQuery(owner));
  const limited = useQuery(infoQuery).data?.limited ?? true;
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const columns = useMemo(
    () =>
      column.columns([
        column.display({
          id: "label",
          header: "For",
          cell: ({ row: { original: token } }) => (
            <span className="flex min-w-0 flex-col">
              <span className="font-medium break-words">{token.label}</span>
              <span className="text-xs break-words text-muted">
                {token.owner} · {token.scopes === null ? "all that they may" : token.scopes.join(", ")}
              </span>
            </span>
          ),
        }),
        column.display({
          id: "standing",
          header: "Opens",
          cell: ({ row: { original: token } }) => standing(token),
        }),
        column.display({
          id: "used",
          header: "Last used",
          meta: { className: "text-muted whitespace-nowrap max-sm:hidden" },
          cell: ({ row }) => <Ago atS={row.original.used_at_s} />,
        }),
        column.display({
          id: "made",
          header: "Made",
          meta: { className: "text-muted whitespace-nowrap max-md:hidden" },
          cell: ({ row }) => <Ago atS={row.original.created_at_s} />,
        }),
        column.display({
          id: "revoke",
          header: () => <span className="sr-only">Revoke</span>,
          meta: { className: "text-right" },
          cell: ({ row: { original: token } }) =>
            token.revoked_at_s === null && !limited ? (
              <button
                type="button"
                className="button button-bare h-7"
                aria-label={`Revoke ${token.label} of ${token.owner}`}
                onClick={() => setRevoking(token)}
              >
                Revoke
              </button>
            ) : null,
        }),
      ]),
    [limited],
  );
  return (
    <Panel
      title="API tokens"
      beside={
        limited ? null : (
          <button type="button" className="button h-7" onClick={() => setMaking(true)}>
            Make a token
          </button>
        )
      }
    >
      {tokens.isLoadingError ? (
        <Failed error={tokens.error} again={() => void tokens.refetch()} />
      ) : tokens.isPending ? (
        <Loading rows={3} label="Loading tokens" />
      ) : tokens.data.length === 0 ? (
        <Empty title="No token yet">Programs come in with a token instead of a password.</Empty>
      ) : (
        <DataTable label="API tokens" columns={columns} rows={tokens.data} rowId={(row) => row.id} />
      )}
      <MakeToken open={making} onOpen={setMaking} others={owner === "*"} onSecret={setSecret} />
      {revoking ? <Revoke token={revoking} onDone={() => setRevoking(null)} /> : null}
      <ShownOnce secret={secret} onDone={() => setSecret(null)} />
    </Panel>
  );
}

function Revoke({ token, onDone }: { token: Token; onDone: () => void }) {
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: () => answer(api.DELETE("/v1/tokens/{id}", { params: { path: { id: token.id } } })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["tokens"] });
      onDone();
    },
  });
  return (
    <Confirm
      open
      onOpen={onDone}
      title={`Revoke “${token.label}” of ${token.owner}?`}
      text="Programs that use it are refused from now on, and browsers that signed in with it are signed out."
      action="Revoke"
      keep="Keep it"
      busy={send.isPending}
      error={send.error}
      onConfirm={() => send.mutate()}
    />
  );
}
