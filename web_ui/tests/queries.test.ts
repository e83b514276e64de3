import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";

import { api, ApiError } from "../src/api/client";
import { exportBegins, roundQuery, sandboxQuery, trajectoryQuery } from "../src/api/queries";

/** In how many ms one that was refused is asked for again; false: it is not. */
function pauseAfter(
  options: { queryKey: readonly unknown[]; refetchInterval?: unknown },
  status: number,
): unknown {
  const query = new QueryClient().getQueryCache().build(new QueryClient(), { queryKey: options.queryKey });
  query.setState({ error: new ApiError(status, ""), status: "error" });
  return (options.refetchInterval as (one: typeof query) => unknown)(query);
}

test("what is not there is not asked for again, unless it may come to be", () => {
  for (const query of [trajectoryQuery("one"), roundQuery(1), sandboxQuery("one")]) {
    expect(pauseAfter(query, 404)).toBe(false);
    expect(pauseAfter(query, 503)).toBeTypeOf("number");
  }
  expect(pauseAfter(trajectoryQuery("one", { awaited: true }), 404)).toBe(2000);
});

test("a download is asked for before it begins, and says why it would not", async () => {
  const get = vi.spyOn(api, "GET");
  const error = { error: { code: "too_large", message: "narrow the choice" } };
  get.mockResolvedValueOnce({ error, response: new Response(null, { status: 413 }) });
  await expect(exportBegins({ task: "fake/markup" })).rejects.toThrow("narrow the choice");
  get.mockResolvedValueOnce({ data: null, response: new Response() });
  await exportBegins({ task: "fake/markup" });
  const [path, options] = get.mock.calls[1] as unknown as [string, { params: object; signal: AbortSignal }];
  expect([path, options.params]).toEqual(["/v1/export", { query: { format: "parquet", task_id: "fake/markup" } }]);
  expect(options.signal.aborted, "it is not had twice").toBe(true);
  get.mockRestore();
});
