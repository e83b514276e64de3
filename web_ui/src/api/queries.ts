/** What the page asks the server for, by key; who shows it decides how often. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { startOfDay } from "../format/times";
import { answer, api } from "./client";
import { gone, pause } from "./polling";
import type { Failure, OutcomeFilter, Round, WorkState } from "./words";

const SOON_MS = 2000;
const LATER_MS = 10_000;
export const STEPS_A_PAGE = 50;
const ROWS_A_PAGE = 100;

/** Nothing will change any more. */
export function over(state: WorkState): boolean {
  return state !== "queued" && state !== "running" && state !== "paused";
}

export const infoQuery = queryOptions({
  queryKey: ["info"],
  queryFn: ({ signal }) => answer(api.GET("/v1/info", { signal })),
  refetchInterval: 5000,
});

// ---- rounds ---------------------------------------------------------------------------------------------

export const roundsQuery = infiniteQueryOptions({
  queryKey: ["rounds"],
  queryFn: ({ signal, pageParam }) =>
    answer(api.GET("/v1/rounds", { params: { query: { cursor: pageParam, limit: 30 } }, signal })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor ?? null,
  // what becomes of the rounds listed is told by their events
  refetchInterval: LATER_MS,
});

export function roundQuery(id: number) {
  return queryOptions({
    queryKey: ["round", id],
    queryFn: ({ signal }) => answer(api.GET("/v1/rounds/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (settled(state.data) || gone(state.error) ? false : pause(state, SOON_MS)),
  });
}

function settled(round: Round | undefined): boolean {
  return round !== undefined && over(round.state);
}

export const roundFormQuery = queryOptions({
  queryKey: ["round form"],
  queryFn: ({ signal }) => answer(api.GET("/v1/rounds/form", { signal })),
  staleTime: 300_000,
});

export const promotionsQuery = infiniteQueryOptions({
  queryKey: ["promotions"],
  queryFn: ({ signal, pageParam }) =>
    answer(api.GET("/v1/promotions", { params: { query: { cursor: pageParam, limit: 30 } }, signal })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor ?? null,
  refetchInterval: LATER_MS,
});

export const schedulesQuery = queryOptions({
  queryKey: ["schedules"],
  queryFn: ({ signal }) => answer(api.GET("/v1/schedules", { signal })),
  refetchInterval: LATER_MS,
});

// ---- trajectories ---------------------------------------------------------------------------------------

export interface TrajectoryFilter {
  task?: string | undefined;
  policy?: string | undefined;
  purpose?: string | undefined;
  outcome?: OutcomeFilter | undefined;
  round?: string | undefined;
  /** Words of an instruction or of one thought. */
  text?: string | undefined;
  failure?: Failure | undefined;
  min_score?: number | undefined;
  max_score?: number | undefined;
  min_turns?: number | undefined;
  max_turns?: number | undefined;
  /** Days where the reader is, both counted in: 2026-11-23. */
  since?: string | undefined;
  until?: string | undefined;
}

function trajectoryParams(filter: TrajectoryFilter) {
  const labels = [
    ...(filter.purpose ? [`purpose=${filter.purpose}`] : []),
    ...(filter.round ? [`round=${filter.round}`] : []),
  ];
  return {
    ...(filter.task ? { task_id: filter.task } : {}),
    ...(filter.policy ? { policy_id: filter.policy } : {}),
    ...(filter.outcome ? { outcome: filter.outcome } : {}),
    ...(filter.text ? { text: filter.text } : {}),
    ...(filter.failure ? { failure: filter.failure } : {}),
    ...(filter.min_score === undefined ? {} : { min_score: filter.min_score }),
    ...(filter.max_score === undefined ? {} : { max_score: filter.max_score }),
    ...(filter.min_turns === undefined ? {} : { min_turns: filter.min_turns }),
    ...(filter.max_turns === undefined ? {} : { max_turns: filter.max_turns }),
    ...(filter.since ? { since_s: startOfDay(filter.since) } : {}),
    ...(filter.until ? { until_s: startOfDay(filter.until, 1) } : {}),
    ...(labels.length > 0 ? { label: labels } : {}),
  };
}

/** Where the whole episodes that a list shows are had as an archive of files. */
export function exportAddress(filter: TrajectoryFilter): string {
  const query = new URLSearchParams({ format: "parquet" });
  for (const [name, value] of Object.entries(trajectoryParams(filter))) {
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  }
  return `/v1/export?${query.toString()}`;
}

/** After a question that is given up once it is answered, the platform has its place again within this. */
const FREE_AGAIN_MS = 300;

/** Resolves where that archive would begin, and rejects with why it would not. */
export async function exportBegins(filter: TrajectoryFilter): Promise<void> {
  const control = new AbortController();
  const query = { format: "parquet" as const, ...trajectoryParams(filter) };
  try {
    await answer(api.GET("/v1/export", { params: { query }, parseAs: "stream", signal: control.signal }));
  } finally {
    control.abort();
  }
  await new Promise((resolve) => setTimeout(resolve, FREE_AGAIN_MS));
}

export function trajectoriesQuery(filter: TrajectoryFilter) {
  return infiniteQueryOptions({
    queryKey: ["trajectories", filter],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...trajectoryParams(filter), cursor: pageParam, limit: ROWS_A_PAGE };
      return answer(api.GET("/v1/trajectories", { params: { query }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    placeholderData: keepPreviousData,
    // who comes back from a long replay finds as much of it as they had loaded
    gcTime: 3_600_000,
  });
}

/** Only the newest one's id: tells that the list has grown without moving it under the reader. */
export function newestTrajectoryQuery(filter: TrajectoryFilter) {
  return queryOptions({
    queryKey: ["newest trajectory", filter],
    queryFn: async ({ signal }) => {
      const query = { ...trajectoryParams(filter), limit: 1 };
      const page = await answer(api.GET("/v1/trajectories", { params: { query }, signal }));
      return page.items[0]?.id ?? null;
    },
    refetchInterval: 4000,
  });
}

/** `awaited`: it may come to be, and is asked for while there is none. */
export function trajectoryQuery(id: string, { awaited = false } = {}) {
  return queryOptions({
    queryKey: ["trajectory", id],
    queryFn: ({ signal }) => answer(api.GET("/v1/trajectories/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) =>
      state.data?.ended_at_s != null || (gone(state.error) && !awaited) ? false : pause(state, SOON_MS),
  });
}

/** Some steps of an episode; asked again until there are as many as are known to exist. */
export function stepsQuery(id: string, page: number, turns: number) {
  const offset = page * STEPS_A_PAGE;
  const expected = Math.min(turns - offset, STEPS_A_PAGE);
  const params = { path: { id }, query: { offset, limit: STEPS_A_PAGE } };
  return queryOptions({
    queryKey: ["steps", id, page],
    queryFn: ({ signal }) => answer(api.GET("/v1/trajectories/{id}/steps", { params, signal })),
    staleTime: 60_000,
    refetchInterval: ({ state }) =>
      state.data !== undefined && state.data.items.length < expected ? 1000 : false,
  });
}

/** What people marked and noted of an episode. */
export function annotationsQuery(id: string) {
  return queryOptions({
    queryKey: ["annotations", id],
    queryFn: ({ signal }) =>
      answer(api.GET("/v1/trajectories/{id}/annotations", { params: { path: { id } }, signal })),
    staleTime: 5000,
  });
}

/** One figure of every step; asked again while the episode grows. */
export function curvesQuery(id: string, turns: number) {
  return queryOptions({
    queryKey: ["curves", id, turns],
    queryFn: ({ signal }) =>
      answer(api.GET("/v1/trajectories/{id}/curves", { params: { path: { id } }, signal })),
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
}

export function insideQuery(id: string, index: number) {
  return queryOptions({
    queryKey: ["inside", id, index],
    queryFn: ({ signal }) =>
      answer(
        api.GET("/v1/trajectories/{id}/steps/{index}/inside", { params: { path: { id, index } }, signal }),
      ),
    staleTime: 300_000,
    placeholderData: keepPreviousData,
  });
}

/** Episodes that left this one at some step. */
export function branchesQuery(id: string) {
  return infiniteQueryOptions({
    queryKey: ["branches", id],
    queryFn: ({ signal, pageParam }) => {
      const query = { label: [`branch_of=${id}`], cursor: pageParam, limit: 50 };
      return answer(api.GET("/v1/trajectories", { params: { query }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    refetchInterval: 5000,
  });
}

// ---- what people do -------------------------------------------------------------------------------------

export const reviewQueueQuery = (state: "open" | "resolved") =>
  infiniteQueryOptions({
    queryKey: ["review queue", state],
    queryFn: ({ signal, pageParam }) =>
      answer(api.GET("/v1/review-queue", { params: { query: { state, cursor: pageParam, limit: 50 } }, signal })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    refetchInterval: LATER_MS,
  });

export const proposalsQuery = queryOptions({
  queryKey: ["proposals"],
  queryFn: ({ signal }) => answer(api.GET("/v1/proposals", { signal })),
  refetchInterval: 1000,
});

export const agreementQuery = queryOptions({
  queryKey: ["agreement"],
  queryFn: ({ signal }) => answer(api.GET("/v1/agreement", { signal })),
  staleTime: 10_000,
});

// ---- sandboxes ------------------------------------------------------------------------------------------

export const sandboxesQuery = queryOptions({
  queryKey: ["sandboxes"],
  queryFn: ({ signal }) => answer(api.GET("/v1/sandboxes", { signal })),
  refetchInterval: ({ state }) => pause(state, SOON_MS),
});

export function sandboxQuery(id: string) {
  return queryOptions({
    queryKey: ["sandbox", id],
    queryFn: ({ signal }) => answer(api.GET("/v1/sandboxes/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (gone(state.error) ? false : pause(state, 1000)),
  });
}

// ---- tasks and policies ---------------------------------------------------------------------------------

export const catalogQuery = queryOptions({
  queryKey: ["catalog"],
  queryFn: ({ signal }) => answer(api.GET("/v1/catalog", { signal })),
  staleTime: 300_000,
});

export function tasksQuery(state: WorkState | undefined) {
  return infiniteQueryOptions({
    queryKey: ["tasks", state ?? "all"],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...(state ? { state } : {}), cursor: pageParam, limit: 30 };
      return answer(api.GET("/v1/tasks", { params: { query }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    refetchInterval: (query) => {
      const live = query.state.data?.pages.some((page) => page.items.some((task) => !over(task.state)));
      return live ? 1000 : LATER_MS;
    },
  });
}

// ---- accounts -------------------------------------------------------------------------------------------

export const usersQuery = queryOptions({
  queryKey: ["users"],
  queryFn: ({ signal }) => answer(api.GET("/v1/users", { signal })),
});

/** Somebody's tokens; `*` is everybody. */
export function tokensQuery(owner: string) {
  return queryOptions({
    queryKey: ["tokens", owner],
    queryFn: ({ signal }) => answer(api.GET("/v1/tokens", { params: { query: { owner } }, signal })),
  });
}

export const quotasQuery = queryOptions({
  queryKey: ["quotas"],
  queryFn: ({ signal }) => answer(api.GET("/v1/quotas", { signal })),
  refetchInterval: LATER_MS,
});

export interface AuditFilter {
  user?: string;
  action?: string;
  refused?: boolean;
}

export function auditQuery(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...filter, cursor: pageParam, limit: 50 };
      return answer(api.GET("/v1/audit", { params: { query }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    placeholderData: keepPreviousData,
  });
}

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => answer(api.GET("/v1/settings", { signal })),
});

export const policiesQuery = queryOptions({
  queryKey: ["policies"],
  queryFn: ({ signal }) => answer(api.GET("/v1/policies", { signal })),
  staleTime: 15_000,
});

/** For who chooses one: what was kept a moment ago is in the list. */
export const policyChoicesQuery = queryOptions({ ...policiesQuery, staleTime: 0 });
