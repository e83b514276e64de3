import { expect, test } from "vitest";

import type { Proposal } from "../src/api/words";
import { shownAfter } from "../src/annotate/showing";

const made = (id: string, step = 0) => ({ id, step_index: step }) as Proposal;
const [one, two] = [made("1"), made("2")];

test("the first that waits is shown, and stays while it does", () => {
  expect(shownAfter(null, [])).toBeNull();
  const shown = shownAfter(null, [one, two]);
  expect(shown).toEqual({ proposal: one, answered: false });
  expect(shownAfter(shown, [two, one])).toBe(shown);
});

test("one that is over without an answer from here lets no other slip in", () => {
  const shown = { proposal: one, answered: false };
  expect(shownAfter(shown, [two])).toBe(shown);
  expect(shownAfter(shown, [])).toBe(shown);
});

test("one that was answered here makes room once the list has let go of it", () => {
  const shown = { proposal: one, answered: true };
  expect(shownAfter(shown, [one, two])).toBe(shown);
  expect(shownAfter(shown, [two])).toEqual({ proposal: two, answered: false });
  expect(shownAfter(shown, [])).toBeNull();
});

test("what is known of it anew is shown", () => {
  const later = made("1", 3);
  expect(shownAfter({ proposal: one, answered: true }, [later])).toEqual({ proposal: later, answered: true });
});
