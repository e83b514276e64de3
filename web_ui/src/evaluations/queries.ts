/** What the evaluations page asks for. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { answer, api } from "../api/client";
import { over } from "../api/queries";
import type { Compared } from "./search";

export const evaluationsQuery = infiniteQueryOptions({
  queryKey: ["evaluations"],
  queryFn: ({ signal, pageParam }) =>
    answer(api.GET("/v1/evaluations", { params: { query: { cursor: pageParam, limit: 50 } }, signal })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor ?? null,
  refetchInterval: (query) =>
    query.state.data?.pages.some((page) => page.items.some((one) => !over(one.state))) ? 2000 : 15_000,
});

export const suitesQuery = queryOptions({
  queryKey: ["suites"],
  queryFn: ({ signal }) => answer(api.GET("/v1/evaluations/suites", { signal })),
  staleTime: 300_000,
});

export function comparisonQuery({ old, new: after }: Compared) {
  return queryOptions({
    queryKey: ["comparison", old, after],
    queryFn: ({ signal }) =>
      answer(
        api.GET("/v1/evaluations/compare", {
          params: { query: { old: old ?? "", new: after ?? "" } },
          signal,
        }),
      ),
    enabled: Boolean(old && after),
  });
}
