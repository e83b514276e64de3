/** What the flywheel page asks for. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { answer, api } from "../api/client";
import { over } from "../api/queries";
import type { FlywheelSearch } from "./search";

export const datasetsQuery = queryOptions({
  queryKey: ["datasets"],
  queryFn: ({ signal }) => answer(api.GET("/v1/datasets", { signal })),
  refetchInterval: 15_000,
});

export const routingQuery = queryOptions({
  queryKey: ["routing"],
  queryFn: ({ signal }) => answer(api.GET("/v1/routing", { signal })),
  refetchInterval: 15_000,
});

export const scorersQuery = queryOptions({
  queryKey: ["scorers"],
  queryFn: ({ signal }) => answer(api.GET("/v1/scorers", { signal })),
  staleTime: 30_000,
});

export const calibrationsQuery = queryOptions({
  queryKey: ["calibrations"],
  queryFn: ({ signal }) => answer(api.GET("/v1/calibrations", { signal })),
  staleTime: 30_000,
});

export const storageQuery = queryOptions({
  queryKey: ["storage"],
  queryFn: ({ signal }) => answer(api.GET("/v1/storage", { signal })),
  staleTime: 60_000,
});

/** Checks and collections stand among jobs of other kinds, which take no room in the list. */
export const upkeepQuery = infiniteQueryOptions({
  queryKey: ["jobs"],
  queryFn: ({ signal, pageParam }) =>
    answer(api.GET("/v1/jobs", { params: { query: { cursor: pageParam, limit: 200 } }, signal })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor ?? null,
  select: ({ pages }) =>
    pages.flatMap((page) => page.items.filter((job) => job.kind === "fsck" || job.kind === "gc")),
  refetchInterval: (query) =>
    query.state.data?.pages.some((page) => page.items.some((job) => !over(job.state))) ? 1000 : 15_000,
});

/** One job with what came of it, which does not change once it is done. */
export function jobQuery(id: string) {
  return queryOptions({
    queryKey: ["job", id],
    queryFn: ({ signal }) => answer(api.GET("/v1/jobs/{id}", { params: { path: { id } }, signal })),
    staleTime: Infinity,
  });
}

export function lineageQuery({ dataset, policy }: FlywheelSearch) {
  const query = { ...(dataset ? { dataset } : {}), ...(policy ? { policy } : {}) };
  return queryOptions({
    queryKey: ["lineage", query],
    queryFn: ({ signal }) => answer(api.GET("/v1/lineage", { params: { query }, signal })),
    enabled: Boolean(dataset ?? policy),
    staleTime: 30_000,
  });
}
