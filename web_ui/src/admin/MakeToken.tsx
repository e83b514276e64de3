/** Makes a token for all or some of what its owner may, for ever or for a time. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "../api/client";
import { infoQuery, usersQuery } from "../api/queries";
import { Field } from "../parts/Field";
import { FormDialog } from "../parts/FormDialog";
import { Trouble } from "../parts/Notice";
import type { Secret } from "../parts/ShownOnce";

const DAY_S = 86_400;
const TIMES = [
  { label: "Until revoked", lasts_s: null },
  { label: "One day", lasts_s: DAY_S },
  { label: "30 days", lasts_s: 30 * DAY_S },
  { label: "90 days", lasts_s: 90 * DAY_S },
  { label: "One year", lasts_s: 365 * DAY_S },
] as const;

export function MakeToken({
  open,
  onOpen,
  others,
  onSecret,
}: {
  open: boolean;
  onOpen: (open: boolean) => void;
  /** It may be somebody else's. */
  others: boolean;
  onSecret: (secret: Secret) => void;
}) {
  const info = useQuery(infoQuery);
  const users = useQuery({ ...usersQuery, enabled: others && open });
  const [label, setLabel] = useState("");
  const [owner, setOwner] = useState<string | null>(null);
  const [time, setTime] = useState<string>("90 days");
  const [picked, setPicked] = useState<readonly string[]>([]);
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/v1/tokens", {
          body: {
            label: label.trim(),
            owner: owner ?? info.data?.user ?? null,
            lasts_s: TIMES.find((one) => one.label === time)?.lasts_s ?? null,
            scopes: picked.length === 0 ? null : [...picked],
          },
        }),
      ),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: ["tokens"] });
      setLabel("");
      setPicked([]);
      onOpen(false);
      onSecret({ title: `Token for ${made.about.label}`, text: made.token });
    },
  });
  return (
    <FormDialog
      open={open}
      onOpen={(shown) => {
        send.reset();
        onOpen(shown);
      }}
      title="Make a token"
      action={send.isPending ? "Making…" : "Make"}
      busy={send.isPending}
      ready={label.trim() !== ""}
      error={send.error}
      onSubmit={() => send.mutate()}
    >
      <Field label="What it is for">
        {(ids) => (
          <input
            {...ids}
            className="field"
            maxLength={64}
            autoComplete="off"
            value={label}
            onChange={(event) => setLabel(event.target.value)}
          />
        )}
      </Field>
      {others ? (
        <Field label="Whose">
          {(ids) => (
            <select
              {...ids}
              className="field"
              value={owner ?? info.data?.user ?? ""}
              onChange={(event) => setOwner(event.target.value)}
            >
              {users.data
                ?.filter((user) => !user.disabled)
                .map((user) => (
                  <option key={user.name}>{user.name}</option>
                ))}
            </select>
          )}
        </Field>
      ) : null}
      <Trouble error={users.error} again={() => void users.refetch()} />
      <Field label="How long">
        {(ids) => (
          <select {...ids} className="field" value={time} onChange={(event) => setTime(event.target.value)}>
            {TIMES.map((one) => (
              <option key={one.label}>{one.label}</option>
            ))}
          </select>
        )}
      </Field>
      <fieldset className="flex flex-col gap-1">
        <legend className="label mb-1.5">Only for (none: all that its owner may)</legend>
        <div className="grid grid-cols-2 gap-x-3 gap-y-1">
          {info.data?.scopes.map((scope) => (
            <label key={scope} className="flex items-center gap-2">
              <input
                type="checkbox"
                className="accent-accent"
                checked={picked.includes(scope)}
                onChange={(event) =>
                  setPicked(event.target.checked ? [...picked, scope] : picked.filter((one) => one !== scope))
                }
              />
              <span className="font-mono text-xs break-all">{scope}</span>
            </label>
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}
