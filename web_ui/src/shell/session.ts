/** Whether this browser is signed in: learned from the answers, for the cookie itself cannot be read. */

import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { ApiError, FROM_PAGE } from "../api/client";
import { span } from "../format/times";

let signedOut = false;
const listeners = new Set<() => void>();

function tell(out: boolean): void {
  if (out === signedOut) return;
  signedOut = out;
  for (const listener of listeners) listener();
}

function unauthorized(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

function heed(error: unknown): void {
  if (unauthorized(error)) tell(true);
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: heed }),
  mutationCache: new MutationCache({ onError: heed }),
  defaultOptions: {
    // the server may be this very computer: whether a network is there says nothing of it
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 1000,
      // a refusal stays one; only a server that does not answer is asked again
      retry: (times, error) => error instanceof ApiError && error.status === 0 && times < 2,
      refetchOnWindowFocus: true,
    },
  },
});

export function useSignedOut(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => signedOut,
  );
}

export type Credentials = { token: string } | { name: string; password: string };

/** Trades them for the session cookie. They go in the body: an address is written down everywhere. */
export async function signIn(shown: Credentials): Promise<void> {
  await post("/login", shown, "token" in shown ? "That is not this platform's token." : WRONG);
  queryClient.clear();
  tell(false);
}

/** Gives the cookie back. */
export async function signOut(): Promise<void> {
  await post("/logout", {}, "");
  tell(true);
  queryClient.clear();
}

const WRONG = "That is not a name with its password.";

async function post(path: string, body: object, wrong: string): Promise<void> {
  let response: Response;
  try {
    const headers = { "Content-Type": "application/json", ...FROM_PAGE };
    response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  } catch {
    throw new ApiError(0, "The platform does not answer. Is `deskhand serve` running?");
  }
  if (response.ok) return;
  if (response.status === 401) throw new ApiError(401, wrong);
  if (response.status === 429) {
    const wait = Number(response.headers.get("Retry-After") ?? 60);
    throw new ApiError(429, `That went wrong too often. Try again in ${span(wait)}.`);
  }
  throw new ApiError(response.status, `The platform refused with status ${response.status}.`);
}
