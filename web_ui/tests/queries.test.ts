import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { ApiError } from "../src/api/client";
import { roundQuery, sandboxQuery, trajectoryQuery } from "../src/api/queries";

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
