/** Everybody with an account: open one, give another role or password, shut out. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { answer, api } from "../api/client";
import { infoQuery, usersQuery } from "../api/queries";
import type { User } from "../api/words";
import { Ago } from "../parts/Ago";
import { columnsOf, DataTable } from "../parts/DataTable";
import { Confirm } from "../parts/Dialog";
import { Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { ShownOnce, type Secret } from "../parts/ShownOnce";
import { AddUser, ChangeRole } from "./UserForms";

type Act = "role" | "password" | "disable";

const column = columnsOf<User>();

export function UsersPanel() {
  const users = useQuery(usersQuery);
  const limited = useQuery(infoQuery).data?.limited ?? true;
  const [adding, setAdding] = useState(false);
  const [asked, setAsked] = useState<{ act: Act; user: User } | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const columns = useMemo(
    () =>
      column.columns([
        column.display({
          id: "name",
          header: "Name",
          cell: ({ row: { original: user } }) => (
            <span className={user.disabled ? "text-muted" : "font-medium"}>
              {user.name}
              {user.disabled ? <span className="block text-xs text-bad">disabled</span> : null}
            </span>
          ),
        }),
        column.accessor("role", { header: "Role" }),
        column.display({
          id: "way",
          header: "Comes in by",
          meta: { className: "max-sm:hidden" },
          cell: ({ row: { original: user } }) =>
            user.disabled ? "–" : user.has_password ? "password, tokens" : "tokens",
        }),
        column.display({
          id: "since",
          header: "Since",
          meta: { className: "text-muted whitespace-nowrap max-sm:hidden" },
          cell: ({ row }) => <Ago atS={row.original.created_at_s} />,
        }),
        column.display({
          id: "acts",
          header: () => <span className="sr-only">Change</span>,
          meta: { className: "text-right" },
          cell: ({ row: { original: user } }) =>
            limited ? null : <Acts user={user} onAsk={(act) => setAsked({ act, user })} />,
        }),
      ]),
    [limited],
  );
  const close = () => setAsked(null);
  return (
    <Panel
      title="Users"
      beside={
        limited ? null : (
          <button type="button" className="button h-7" onClick={() => setAdding(true)}>
            Add a user
          </button>
        )
      }
    >
      {users.isLoadingError ? (
        <Failed error={users.error} again={() => void users.refetch()} />
      ) : users.isPending ? (
        <Loading rows={4} label="Loading users" />
      ) : (
        <DataTable label="Users" columns={columns} rows={users.data} rowId={(row) => row.name} />
      )}
      <AddUser open={adding} onOpen={setAdding} onSecret={setSecret} />
      {asked?.act === "role" ? <ChangeRole user={asked.user} onDone={close} /> : null}
      {asked?.act === "password" ? (
        <NewPassword user={asked.user} onDone={close} onSecret={setSecret} />
      ) : null}
      {asked?.act === "disable" ? <Disable user={asked.user} onDone={close} /> : null}
      <ShownOnce secret={secret} onDone={() => setSecret(null)} />
    </Panel>
  );
}

function Acts({ user, onAsk }: { user: User; onAsk: (act: Act) => void }) {
  const acts: readonly (readonly [Act, string])[] = [
    ["role", "Role"],
    ["password", "New password"],
    ["disable", user.disabled ? "Let in again" : "Disable"],
  ];
  return (
    <span className="flex flex-wrap justify-end gap-x-1">
      {acts.map(([act, label]) => (
        <button
          key={act}
          type="button"
          className="button button-bare h-7"
          aria-label={`${label}: ${user.name}`}
          onClick={() => onAsk(act)}
        >
          {label}
        </button>
      ))}
    </span>
  );
}

function NewPassword({
  user,
  onDone,
  onSecret,
}: {
  user: User;
  onDone: () => void;
  onSecret: (secret: Secret) => void;
}) {
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: () =>
      answer(api.PUT("/v1/users/{name}/password", { params: { path: { name: user.name } }, body: {} })),
    onSuccess: (made) => {
      onDone();
      onSecret({ title: `Password of ${user.name}`, text: made.password ?? "" });
      // how they come in may be another now
      return client.invalidateQueries({ queryKey: ["users"] });
    },
  });
  return (
    <Confirm
      open
      onOpen={onDone}
      title={`A new password for ${user.name}?`}
      text="The one they have stops working, and they are signed out everywhere. Their tokens stay."
      action="Make a new password"
      keep="Keep the old one"
      busy={send.isPending}
      error={send.error}
      onConfirm={() => send.mutate()}
    />
  );
}

function Disable({ user, onDone }: { user: User; onDone: () => void }) {
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: () =>
      answer(
        api.PATCH("/v1/users/{name}", {
          params: { path: { name: user.name } },
          body: { disabled: !user.disabled },
        }),
      ),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["users"] });
      onDone();
    },
  });
  return (
    <Confirm
      open
      onOpen={onDone}
      title={user.disabled ? `Let ${user.name} in again?` : `Disable ${user.name}?`}
      text={
        user.disabled
          ? "Their password and their tokens work again."
          : "They are signed out, and neither their password nor their tokens open anything. What they did stays; their queued tasks are worked."
      }
      action={user.disabled ? "Let in again" : "Disable"}
      keep={user.disabled ? "Leave disabled" : "Leave as it is"}
      busy={send.isPending}
      error={send.error}
      onConfirm={() => send.mutate()}
    />
  );
}
