/** Alarms that are not over. */

import { queryOptions } from "@tanstack/react-query";

import { answer, api } from "../api/client";

export const alarmsQuery = queryOptions({
  queryKey: ["alarms"],
  queryFn: ({ signal }) =>
    answer(api.GET("/v1/alarms", { params: { query: { open: true, limit: 200 } }, signal })),
  refetchInterval: 10_000,
});
