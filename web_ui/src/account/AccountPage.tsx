/** Who is signed in: their password, their tokens, what they have of what they may have. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { QuotasPanel } from "../admin/QuotasPanel";
import { TokensPanel } from "../admin/TokensPanel";
import { answer, api } from "../api/client";
import { infoQuery } from "../api/queries";
import { Field } from "../parts/Field";
import { Failed, Loading, Trouble } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { signOut } from "../shell/session";

export function AccountPage() {
  const info = useQuery(infoQuery);
  if (!info.data)
    return info.isError ? (
      <Failed error={info.error} again={() => void info.refetch()} />
    ) : (
      <Loading label="Loading your account" />
    );
  const { user, role, scopes, limited } = info.data;
  return (
    <Page title={user} beside={<span className="text-muted">{role}</span>}>
      <div className="grid items-start gap-3 lg:grid-cols-[1fr_22rem]">
        <div className="flex min-w-0 flex-col gap-3">
          <TokensPanel owner={user} />
          {role === "admin" ? null : <QuotasPanel mine />}
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          {limited ? null : <Password />}
          <Panel title="What you may do">
            <p className="p-3 font-mono text-xs break-words text-muted">{scopes.join(", ")}</p>
            {limited ? (
              <p className="px-3 pb-3 text-muted">
                You came with a token that is for some of this or for a time. Sign in with your password to change
                it, or to make and revoke tokens.
              </p>
            ) : null}
          </Panel>
        </div>
      </div>
    </Page>
  );
}

function Password() {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const send = useMutation({
    mutationFn: () => answer(api.PUT("/v1/password", { body: { current, password } })),
    onSuccess: signOut,
  });
  return (
    <Panel title="Password">
      <form
        className="flex flex-col gap-3 p-3"
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate();
        }}
      >
        <Field label="Current password">
          {(ids) => (
            <input
              {...ids}
              className="field"
              type="password"
              autoComplete="current-password"
              value={current}
              onChange={(event) => setCurrent(event.target.value)}
            />
          )}
        </Field>
        <Field label="New password" hint="10 characters or more. You are signed out everywhere.">
          {(ids) => (
            <input
              {...ids}
              className="field"
              type="password"
              autoComplete="new-password"
              minLength={10}
              required
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        <Trouble error={send.error} />
        <button type="submit" className="button self-start" disabled={send.isPending || password === ""}>
          {send.isPending ? "Changing…" : "Change the password"}
        </button>
      </form>
    </Panel>
  );
}
