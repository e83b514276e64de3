import { expect, test } from "vitest";

import type { Suite } from "../src/api/words";
import { badName, gathered, suiteWith } from "../src/evaluations/suites";

const SUITES: Suite[] = [
  { name: "smoke", tasks: ["a"], own: false },
  { name: "forms", tasks: ["a", "b"], own: true },
];

test("a suite has a plain name that Deskhand does not use itself", () => {
  expect(badName("forms", SUITES)).toBeNull();
  expect(badName("more-forms.2", SUITES)).toBeNull();
  expect(badName("smoke", SUITES)).toMatch(/another/);
  for (const name of ["", "Forms", ".forms", "a b", "a/b", "a".repeat(65)])
    expect(badName(name, SUITES), name).toMatch(/letters/);
});

test("a suite is known again by its tasks, in whatever order", () => {
  expect(suiteWith(["b", "a", "b"], SUITES)?.name).toBe("forms");
  expect(suiteWith(["b"], SUITES)).toBeNull();
});

test("what stands in the field counts as chosen, once", () => {
  expect(gathered(["a"], " b ")).toEqual(["a", "b"]);
  expect(gathered(["a"], "a")).toEqual(["a"]);
  expect(gathered([], "  ")).toEqual([]);
});
