import { expect, it } from "vitest";

import { roundOf, subjectOf, textOf, titleOf } from "../src/alarms/words";
import { bytes } from "../src/format/bytes";

it("says what an alarm is about, its figures and what to do", () => {
  expect(titleOf({ name: "disk_low" })).toBe("The disk is nearly full");
  expect(titleOf({ name: "kl_high" })).toBe("KL is high");
  expect(titleOf({ name: "some_new_one" })).toBe("some new one");
  expect(textOf({ data: { value: 1.5, limit: 2, unit: "GB free", advice: "make room" } })).toBe(
    "1.5 GB free, limit 2; make room",
  );
  expect(textOf({ data: { child: "sandbox host", reason: "its process died" } })).toBe(
    "child sandbox host, reason its process died",
  );
  expect(textOf({ data: {} })).toBe("");
});

it("finds the round a subject belongs to", () => {
  expect(["round:3", "run:round-12-ppo", "platform", "run:ppo-20260101"].map(roundOf)).toEqual([
    "3",
    "12",
    null,
    null,
  ]);
});

it("tells a subject as the rest of the page does", () => {
  expect(["round:3", "run:round-12-ppo", "platform"].map(subjectOf)).toEqual(["round 3", "round-12-ppo", "platform"]);
});

it("tells sizes with three digits", () => {
  expect([0, 999, 1000, 1_234_567, 5e9, 2e18].map(bytes)).toEqual([
    "0 bytes",
    "999 bytes",
    "1 kB",
    "1.23 MB",
    "5 GB",
    "2000 PB",
  ]);
});
