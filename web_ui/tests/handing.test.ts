import { expect, test } from "vitest";

import { Handing, type Done } from "../src/sandboxes/handing";

const short = (done: readonly Done[]) => done.map(({ reply, state, error }) => [reply, state, error]);

test("an action that was refused says so, and why, whatever is carried out after it", async () => {
  const told: (readonly Done[])[] = [];
  const handing = new Handing((done) => told.push(done));
  const refusal = new Error("no such key");
  const order: string[] = [];
  handing.add("hotkey(key='F99')", () => Promise.reject(refusal));
  for (const each of ["click", "type"])
    handing.add(`${each}()`, () => {
      order.push(each);
      return Promise.resolve();
    });
  expect(short(told.at(-1) ?? []).map(([, state]) => state)).toEqual(["waiting", "waiting", "waiting"]);
  await handing.settled();
  expect(order).toEqual(["click", "type"]);
  expect(short(told.at(-1) ?? [])).toEqual([
    ["type()", "sent", null],
    ["click()", "sent", null],
    ["hotkey(key='F99')", "refused", refusal],
  ]);
});
