import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { ApiError } from "../src/api/client";
import { follow, type Log } from "../src/rounds/following";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const piece = (text: string, next_offset: number, over = false) => ({ text, next_offset, size: next_offset, over });
const away = new ApiError(0, "The platform does not answer.");

/** The offsets that were asked for, and what was told, of answers in turn. */
async function followed(answers: readonly (ReturnType<typeof piece> | ApiError)[]): Promise<[unknown[], Log[]]> {
  const [asked, told]: [unknown[], Log[]] = [[], []];
  const left = [...answers];
  const stop = follow(
    (offset) => {
      asked.push(offset);
      const next = left.shift() ?? away;
      return next instanceof ApiError ? Promise.reject(next) : Promise.resolve(next);
    },
    (log) => told.push(log),
  );
  await vi.advanceTimersByTimeAsync(1500 * (answers.length - 1));
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  return [asked, told];
}

test("a question that fails leaves what was read, and is asked again from there on", async () => {
  const [asked, told] = await followed([piece("one\n", 4), away, piece("two\n", 8), piece("", 8, true)]);
  expect(asked).toEqual([null, 4, 4, 8]);
  expect(told.map((log) => log.text)).toEqual(["one\n", "one\n", "one\ntwo\n", "one\ntwo\n"]);
  expect(told.map((log) => log.error)).toEqual([null, away, null, null]);
  expect(told.at(-1)?.over).toBe(true);
});

test("also the first one", async () => {
  const [asked, told] = await followed([away, piece("one\n", 4)]);
  expect(asked).toEqual([null, null]);
  expect(told.at(-1)).toEqual({ text: "one\n", next: 4, over: false, error: null });
});

test("a log that is over, or not there any more, is not asked for again", async () => {
  const lost = new ApiError(404, "There is no such round.");
  expect((await followed([piece("one\n", 4, true), piece("", 4)]))[0]).toEqual([null]);
  expect((await followed([piece("one\n", 4), lost, piece("", 4)]))[0]).toEqual([null, 4]);
});
