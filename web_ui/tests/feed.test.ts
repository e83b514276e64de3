import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Feed } from "../src/live/feed";

class Source {
  static readonly CLOSED = 2;
  static made: Source[] = [];
  readyState = 0;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  addEventListener = vi.fn();
  close = vi.fn();

  constructor(readonly url: string) {
    Source.made.push(this);
  }

  refuse(): void {
    this.readyState = Source.CLOSED;
    this.onerror?.();
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Source);
  Source.made = [];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a feed that is refused says so, and tries again by itself until one is open", () => {
  const feed = new Feed(["run:1"]);
  const told: string[] = [];
  const stop = feed.subscribe(() => told.push(feed.state()));
  expect(feed.state()).toBe("opening");
  Source.made[0]?.refuse();
  vi.advanceTimersByTime(2000);
  Source.made[1]?.refuse();
  vi.advanceTimersByTime(2000);
  Source.made[2]?.onopen?.();
  expect(told).toEqual(["failed", "open"]);
  // the browser opens a lost connection again by itself
  Source.made[2]?.onerror?.();
  expect(feed.state()).toBe("open");
  stop();
  expect(Source.made).toHaveLength(3);
});

test("who asks need not wait for the next try, and there is but one", () => {
  const feed = new Feed(["run:1"]);
  const stop = feed.subscribe(() => undefined);
  feed.again();
  expect(Source.made).toHaveLength(1);
  Source.made[0]?.refuse();
  feed.again();
  feed.again();
  vi.advanceTimersByTime(5000);
  expect(Source.made).toHaveLength(2);
  stop();
});
