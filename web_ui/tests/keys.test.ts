import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { pressed } from "../src/replay/useKeys";

class Focused {
  constructor(
    readonly overflowY = "visible",
    readonly scrollHeight = 300,
    readonly clientHeight = 100,
  ) {}
  closest = () => null;
}

beforeEach(() => {
  vi.stubGlobal("HTMLElement", Focused);
  vi.stubGlobal("getComputedStyle", (element: Focused) => ({ overflowY: element.overflowY }));
});
afterEach(() => void vi.unstubAllGlobals());

/** How often a key acts, and is kept from the browser, where an element has the focus. */
function acts(key: string, target = new Focused(), repeats = 0): [number, number] {
  const move = vi.fn();
  const preventDefault = vi.fn();
  for (let time = 0; time <= repeats; time += 1)
    pressed({ key, target, repeat: time > 0, preventDefault } as unknown as KeyboardEvent, move, (each) => each);
  return [move.mock.calls.length, preventDefault.mock.calls.length];
}

test("a key that is held down moves on, and does once what it does", () => {
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "j", "k"])
    expect(acts(key, undefined, 5), key).toEqual([6, 6]);
  for (const key of ["g", "b", "u", "r", "a", " ", "?"]) expect(acts(key, undefined, 5), key).toEqual([1, 6]);
});

test("letters are the keys they stand on, whatever Caps Lock says", () => {
  const move = vi.fn();
  const target = new Focused();
  for (const key of ["G", "J", "?", "ArrowLeft"])
    pressed({ key, target, preventDefault: vi.fn() } as unknown as KeyboardEvent, move, (each) => each);
  expect(move.mock.calls.flat()).toEqual(["g", "j", "?", "ArrowLeft"]);
});

test("a text that scrolls keeps the keys that scroll it", () => {
  for (const key of ["ArrowUp", "ArrowDown", "Home", "End"]) {
    expect(acts(key, new Focused("auto")), key).toEqual([0, 0]);
    expect(acts(key, new Focused("scroll")), key).toEqual([0, 0]);
    expect(acts(key, new Focused("auto", 100)), `${key}: all of it is shown`).toEqual([1, 1]);
    expect(acts(key, new Focused("visible")), `${key}: it does not scroll`).toEqual([1, 1]);
  }
  expect(acts("ArrowRight", new Focused("auto"))).toEqual([1, 1]);
  expect(acts("g", new Focused("auto"))).toEqual([1, 1]);
});
