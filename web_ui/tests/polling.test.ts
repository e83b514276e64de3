import { expect, test } from "vitest";

import { ApiError } from "../src/api/client";
import { gone, pause } from "../src/api/polling";

test("a server that never answered is left alone long enough to read that it does not", () => {
  const gone = new ApiError(0, "gone");
  expect(pause({ data: undefined, error: gone }, 2000)).toBe(15_000);
  expect(pause({ data: { known: true }, error: gone }, 2000), "what is known stays on the page").toBe(2000);
  expect(pause({ data: undefined, error: new ApiError(404, "not yet") }, 2000)).toBe(2000);
  expect(pause({ data: undefined, error: null }, 2000)).toBe(2000);
});

test("only what is not there any more is not asked for again", () => {
  expect([404, 503, 500, 0].map((status) => gone(new ApiError(status, "")))).toEqual([true, false, false, false]);
  expect(gone(null)).toBe(false);
});
