/** Whether this browser is signed in: learned from the answers, for the cookie itself cannot be read. */

import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { answer, api, ApiError, FROM_PAGE } from "../api/client";
import { infoQuery } from "../api/queries";
import { span } from "../format/times";

/** `lapsed`: it was signed in, and whoever it was may go on where they were. */
export type Standing = "in" | "lapsed" | "out";

/** `visit` is another number for every other person. */
interface Session {
  standing: Standing;
  visit: number;
}

let session: Session = { standing: "in", visit: 0 };
const listeners = new Set<() => void>();

function tell(change: Partial<Session>): void {
  session = { ...session, ...change };
  for (const listener of listeners) listener();
}

function heed(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 401) || session.standing !== "in") return;
  tell({ standing: queryClient.getQueryData(infoQuery.queryKey) === undefined ? "out" : "lapsed" });
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

export function currentSession(): Session {
  return session;
}

export function useSession(): Session {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, currentSession);
}

export type Credentials = { token: string } | { name: string; password: string };

/**
 * Trades them for the session cookie. They go in the body: an address is written down everywhere. Who comes back finds
 * the page as they left it, and anybody else a new one.
 */
export async function signIn(shown: Credentials): Promise<void> {
  await post("/login", shown, "token" in shown ? "That is not this platform's token." : WRONG);
  const before = queryClient.getQueryData(infoQuery.queryKey)?.user;
  const now = before === undefined ? null : await answer(api.GET("/v1/info")).catch(() => null);
  if (now !== null && now.user === before) {
    queryClient.setQueryData(infoQuery.queryKey, now);
    tell({ standing: "in" });
    void queryClient.invalidateQueries();
    return;
  }
  queryClient.clear();
  tell({ standing: "in", visit: session.visit + 1 });
}

/** Gives the cookie back. */
export async function signOut(): Promise<void> {
  await post("/logout", {}, "");
  tell({ standing: "out" });
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
