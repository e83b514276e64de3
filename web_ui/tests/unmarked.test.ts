import { expect, test } from "vitest";

import { unmarked, type Given } from "../src/annotate/unmarked";

const given = (index: number | null, score: number | null = 1): Given => ({ id: "one", index, score, why: "" });
const error = new Error("no");

test("a mark that failed is lost until one of its place is kept", () => {
  expect(unmarked([{ given: given(3), error }])).toEqual([{ given: given(3), error }]);
  expect(unmarked([{ given: given(3), error }, { given: given(3, 0), error: null }])).toEqual([]);
  expect(unmarked([{ given: given(3), error: null }, { given: given(3, null), error }])).toHaveLength(1);
});

test("a step, the whole episode and another episode are places of their own", () => {
  const kept = { given: given(3), error: null };
  const places = [given(4), given(null), { ...given(3), id: "other" }];
  expect(unmarked([...places.map((each) => ({ given: each, error })), kept]).map((one) => one.given)).toEqual(places);
});
