import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Reopening } from "../src/sandboxes/reopening";

class Looked extends EventTarget {
  visibilityState = "visible";
}

let page: Looked;
beforeEach(() => {
  vi.useFakeTimers();
  page = new Looked();
  vi.stubGlobal("document", page);
  vi.stubGlobal("window", new EventTarget());
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("pictures that failed are opened again after a while, and more seldom while they go on failing", () => {
  const open = vi.fn();
  const reopening = new Reopening(open);
  const waits = [1500, 3000, 6000, 12_000, 24_000, 30_000, 30_000];
  waits.forEach((wait, before) => {
    reopening.failed();
    vi.advanceTimersByTime(wait - 1);
    expect(open).toHaveBeenCalledTimes(before);
    vi.advanceTimersByTime(1);
    expect(open).toHaveBeenCalledTimes(before + 1);
  });
  reopening.shown();
  reopening.failed();
  vi.advanceTimersByTime(1500);
  expect(open).toHaveBeenCalledTimes(waits.length + 1);
});

test("a network that is back and a page that is looked at again open them, until nobody watches", () => {
  const open = vi.fn();
  const reopening = new Reopening(open);
  const leave = reopening.watch();
  window.dispatchEvent(new Event("online"));
  expect(open).toHaveBeenCalledTimes(1);
  page.visibilityState = "hidden";
  page.dispatchEvent(new Event("visibilitychange"));
  expect(open).toHaveBeenCalledTimes(1);
  reopening.failed();
  page.visibilityState = "visible";
  page.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(60_000);
  expect(open, "once, not again for the failure before").toHaveBeenCalledTimes(2);
  reopening.failed();
  leave();
  window.dispatchEvent(new Event("online"));
  page.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(60_000);
  expect(open).toHaveBeenCalledTimes(2);
});
