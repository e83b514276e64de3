/** Shown in place of every page until the browser has a session, and over the page when that has ended. */

import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Dialog as Radix } from "radix-ui";
import { useState } from "react";

import { Field } from "../parts/Field";
import { Trouble } from "../parts/Notice";
import { entryRefused } from "./entry";
import { Mark } from "./Mark";
import { signIn } from "./session";

/** Over the page of somebody whose session ended, which is as they left it behind; no dialog of it holds the focus. */
export function SignInAgain() {
  return (
    <Radix.Root open>
      <Radix.Portal>
        <Radix.Content
          aria-modal
          aria-describedby={undefined}
          className="fixed inset-0 z-[60] overflow-y-auto bg-canvas"
          onEscapeKeyDown={(event) => event.preventDefault()}
        >
          <Radix.Title className="sr-only">Your session has ended</Radix.Title>
          <SignIn />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export function SignIn() {
  const [byToken, setByToken] = useState(false);
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [token, setToken] = useState("");
  const router = useRouter();
  const entry = useMutation({ mutationFn: signIn, onSuccess: () => router.invalidate() });
  const trouble = entry.isIdle ? entryRefused() : entry.error;
  const ready = byToken ? token.trim() !== "" : name.trim() !== "" && password !== "";
  return (
    <main className="grid min-h-dvh place-items-center px-4">
      <form
        className="panel flex w-full max-w-sm flex-col gap-4 p-6"
        onSubmit={(event) => {
          event.preventDefault();
          entry.mutate(byToken ? { token: token.trim() } : { name: name.trim(), password });
        }}
      >
        <div className="flex items-center gap-2.5">
          <Mark size={22} />
          <h1 className="text-lg font-semibold tracking-tight">Sign in to Deskhand</h1>
        </div>
        {byToken ? (
          <Field label="Token">
            {(ids) => (
              <input
                {...ids}
                className="field h-9 font-mono"
                type="password"
                autoComplete="off"
                spellCheck={false}
                autoFocus
                required
                value={token}
                aria-invalid={Boolean(trouble)}
                onChange={(event) => setToken(event.target.value)}
              />
            )}
          </Field>
        ) : (
          <>
            <Field label="Name">
              {(ids) => (
                <input
                  {...ids}
                  className="field h-9"
                  autoComplete="username"
                  autoCapitalize="none"
                  spellCheck={false}
                  autoFocus
                  required
                  value={name}
                  aria-invalid={Boolean(trouble)}
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
            <Field label="Password">
              {(ids) => (
                <input
                  {...ids}
                  className="field h-9"
                  type="password"
                  autoComplete="current-password"
                  required
                  value={password}
                  aria-invalid={Boolean(trouble)}
                  onChange={(event) => setPassword(event.target.value)}
                />
              )}
            </Field>
          </>
        )}
        <Trouble error={trouble} />
        <button type="submit" className="button button-main h-9" disabled={entry.isPending || !ready}>
          {entry.isPending ? "Signing in…" : "Sign in"}
        </button>
        <button
          type="button"
          className="link self-start text-sm"
          onClick={() => {
            setByToken(!byToken);
            entry.reset();
          }}
        >
          {byToken ? "Use a name and password" : "Use a token"}
        </button>
        <p className="text-muted">
          On the platform&rsquo;s machine <code className="font-mono text-xs">deskhand url</code> prints an
          address that signs you in, and{" "}
          <code className="font-mono text-xs">deskhand users password NAME</code> gives a new password.
        </p>
      </form>
    </main>
  );
}
