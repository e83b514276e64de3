import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { ApiError, api } from "../src/api/client";
import { infoQuery } from "../src/api/queries";
import { currentSession, queryClient, signIn, signOut } from "../src/shell/session";

const refused = () => Promise.reject(new ApiError(401, "a token is needed"));
const list = ["a list"];
const shown = { name: "ada", password: "x" };

beforeEach(() => {
  vi.stubGlobal("fetch", vi.fn().mockResolvedValue(new Response()));
});
afterEach(() => {
  queryClient.clear();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** A page that somebody looks at, whose next question is refused. */
async function lapse(user: string): Promise<void> {
  queryClient.setQueryData(infoQuery.queryKey, { user } as never);
  queryClient.setQueryData(list, "what was had");
  await queryClient.query({ queryKey: ["a poll"], queryFn: refused }).catch(() => undefined);
}

function comesBack(user: string): void {
  vi.spyOn(api, "GET").mockResolvedValue({ data: { user }, response: new Response() });
}

test("who was signed in signs in again over their page, and finds it as it was", async () => {
  const { visit } = currentSession();
  await lapse("ada");
  expect(currentSession()).toEqual({ standing: "lapsed", visit });
  comesBack("ada");
  await signIn(shown);
  expect(currentSession()).toEqual({ standing: "in", visit });
  expect(queryClient.getQueryData(list)).toBe("what was had");
  expect(queryClient.getQueryState(list)?.isInvalidated, "and it is asked for anew").toBe(true);
});

test("another person finds nothing of it", async () => {
  const { visit } = currentSession();
  await lapse("ada");
  comesBack("bob");
  await signIn(shown);
  expect(currentSession()).toEqual({ standing: "in", visit: visit + 1 });
  expect(queryClient.getQueryData(list)).toBeUndefined();
});

test("who was not signed in, or signed out, sees no page", async () => {
  await queryClient.query({ queryKey: ["a poll"], queryFn: refused }).catch(() => undefined);
  expect(currentSession().standing).toBe("out");
  await signIn(shown);
  expect(currentSession().standing).toBe("in");
  queryClient.setQueryData(infoQuery.queryKey, { user: "ada" } as never);
  await signOut();
  expect(currentSession().standing).toBe("out");
  expect(queryClient.getQueryData(infoQuery.queryKey)).toBeUndefined();
});
