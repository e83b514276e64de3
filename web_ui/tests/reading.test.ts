import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { answer, ApiError } from "../src/api/client";
import { parseEvents } from "../src/live/parse";
import { readQueueSearch } from "../src/tasks/search";
import { readFilter } from "../src/trajectories/filter";

describe("filters in the address", () => {
  it("keeps what it knows and drops the rest", () => {
    expect(
      readFilter({
        task: "miniwob/click-test",
        outcome: "success",
        policy: "",
        round: 3,
        other: 1,
        purpose: ["x"],
      }),
    ).toEqual({
      task: "miniwob/click-test",
      outcome: "success",
      round: "3",
    });
    expect(readFilter({ outcome: "<script>" })).toEqual({});
    expect(readQueueSearch({ task: "a/b", state: "running" })).toEqual({ task: "a/b", state: "running" });
    expect(readQueueSearch({ state: "skipped" })).toEqual({});
  });
});

describe("a finished event stream", () => {
  const first = {
    id: 1,
    at_s: 1.5,
    subject: "run:a",
    kind: "metric",
    name: "x",
    data: { text: "two\n\nlines" },
  };

  it("gives its events, past comments and directives, with either line end", () => {
    const text = `retry: 1000\n\nid: 1\nevent: metric\ndata: ${JSON.stringify(first)}\n\n: still here\n\n`;
    expect(parseEvents(text)).toEqual([first]);
    expect(parseEvents(text.replaceAll("\n", "\r\n"))).toEqual([first]);
    expect(parseEvents("")).toEqual([]);
  });
});

describe("a call's answer", () => {
  it("is the data, or an error in the server's words", async () => {
    expect(await answer(Promise.resolve({ data: 7, response: new Response(null, { status: 200 }) }))).toBe(7);
    const error = { error: { type: "not_found", message: "no task 'x'", field: null, suggestions: ["y"] } };
    const refused = answer(Promise.resolve({ error, response: new Response(null, { status: 404 }) }));
    await expect(refused).rejects.toMatchObject({ status: 404, message: "no task 'x'", suggestions: ["y"] });
  });

  it("is an error even when the server says nothing, or is not there", async () => {
    const silent = answer(Promise.resolve({ error: "oops", response: new Response(null, { status: 502 }) }));
    await expect(silent).rejects.toMatchObject({ status: 502 });
    await expect(answer(Promise.reject(new TypeError("fetch failed")))).rejects.toBeInstanceOf(ApiError);
    await expect(answer(Promise.reject(new DOMException("stopped", "AbortError")))).rejects.toBeInstanceOf(
      DOMException,
    );
  });
});

describe("the lock file", () => {
  it("names no address, so that any registry serves it", () => {
    expect(readFileSync("package-lock.json", "utf8")).not.toContain("://");
  });
});
