/** What the evaluations page asks for. */

import { queryOptions } from "@tanstack/react-query";

import { answer, api } from "../api/client";
import { over } from "../api/queries";
import type { Compared } from "./search";

export const evaluationsQuery = queryOptions({
  queryKey: ["evaluations"],
  queryFn: ({ signal }) => answer(api.GET("/v1/evaluations", { params: { query: { limit: 200 } }, signal })),
  refetchInterval: (query) => (query.state.data?.some((one) => !over(one.state)) ? 2000 : 15_000),
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
