/** Whether this browser is signed in: learned from the answers, for the cookie itself cannot be read. */

import { QueryCache, QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { ApiError } from "../api/client";

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

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (unauthorized(error)) tell(true);
    },
  }),
  defaultOptions: {
    queries: {
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

/** Trades the token for the session cookie. */
export async function signIn(token: string): Promise<void> {
  let response: Response;
  try {
    response = await fetch(`/login?token=${encodeURIComponent(token)}`, { redirect: "manual" });
  } catch {
    throw new ApiError(0, "The platform does not answer. Is `deskhand serve` running?");
  }
  // the server answers the right token with a redirect, which the browser keeps to itself
  if (response.type !== "opaqueredirect" && !response.ok) {
    throw new ApiError(response.status, "That is not this platform's token.");
  }
  queryClient.clear();
  tell(false);
}
