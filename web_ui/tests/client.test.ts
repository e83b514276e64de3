import { expect, test } from "vitest";

import { answer, ApiError } from "../src/api/client";

async function refused(status: number, error: unknown, headers: HeadersInit = {}): Promise<ApiError> {
  const response = new Response(null, { status, headers });
  const thrown = await answer(Promise.resolve({ error, response })).catch((one: unknown) => one);
  if (thrown instanceof ApiError) return thrown;
  throw new Error("it was no refusal");
}

const full = { message: "ada may have 3 tasks; with this there were 4", suggestions: [], type: "quota" };

test("a quota that is used up says when there may be room", async () => {
  const told = await refused(429, { error: { ...full, retry_s: 61.2 } });
  expect(told.message).toBe("ada may have 3 tasks; with this there were 4. Try again in 1 min 02 s.");
});

test("the header says when where the answer does not", async () => {
  const told = await refused(429, { error: { ...full, message: "Too much." } }, { "Retry-After": "30" });
  expect(told.message).toBe("Too much. Try again in 30 s.");
  const bare = await refused(429, undefined, { "Retry-After": "7" });
  expect(bare.message).toBe("The platform answered 429 without saying why. Try again in 7.0 s.");
});

test("nothing is added where nobody knows when, or where waiting does not help", async () => {
  expect((await refused(429, { error: full })).message).toBe(full.message);
  expect((await refused(422, { error: { ...full, field: "seed", retry_s: 5 } })).message).toBe(full.message);
});
