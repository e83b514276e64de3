/** Opens an account, and gives one another role. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "../api/client";
import type { Role, User } from "../api/words";
import { Field } from "../parts/Field";
import { FormDialog } from "../parts/FormDialog";
import type { Secret } from "../parts/ShownOnce";

const ROLES: Record<Role, string> = {
  submitter: "submits tasks, and sees those and their episodes alone",
  annotator: "reads everything and marks it",
  researcher: "submits, reads and marks everything; starts no rounds",
  operator: "runs rounds and whatever else goes on",
  admin: "everything, accounts too",
};

export function AddUser({
  open,
  onOpen,
  onSecret,
}: {
  open: boolean;
  onOpen: (open: boolean) => void;
  onSecret: (secret: Secret) => void;
}) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("submitter");
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: () => answer(api.POST("/v1/users", { body: { name: name.trim(), role, token_only: false } })),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: ["users"] });
      setName("");
      onOpen(false);
      onSecret({ title: `Password of ${made.user.name}`, text: made.password ?? "" });
    },
  });
  return (
    <FormDialog
      open={open}
      onOpen={(shown) => {
        send.reset();
        onOpen(shown);
      }}
      title="Add a user"
      action={send.isPending ? "Adding…" : "Add"}
      busy={send.isPending}
      ready={name.trim() !== ""}
      error={send.error}
      onSubmit={() => send.mutate()}
    >
      <Field label="Name" hint="1 to 32 of a-z, 0-9, _, . and -. A password is made up and shown once.">
        {(ids) => (
          <input
            {...ids}
            className="field"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <RoleChoice role={role} onRole={setRole} />
    </FormDialog>
  );
}

export function ChangeRole({ user, onDone }: { user: User; onDone: () => void }) {
  const [role, setRole] = useState<Role>(user.role);
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: () =>
      answer(api.PATCH("/v1/users/{name}", { params: { path: { name: user.name } }, body: { role } })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["users"] });
      onDone();
    },
  });
  return (
    <FormDialog
      open
      onOpen={onDone}
      title={`Role of ${user.name}`}
      action="Change the role"
      busy={send.isPending}
      ready={role !== user.role}
      error={send.error}
      onSubmit={() => send.mutate()}
    >
      <RoleChoice role={role} onRole={setRole} />
    </FormDialog>
  );
}

function RoleChoice({ role, onRole }: { role: Role; onRole: (role: Role) => void }) {
  return (
    <Field label="Role" hint={`${role}: ${ROLES[role]}`}>
      {(ids) => (
        <select
          {...ids}
          className="field"
          value={role}
          onChange={(event) => onRole(event.target.value as Role)}
        >
          {Object.keys(ROLES).map((known) => (
            <option key={known}>{known}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
