/** A schedule switched on or off, and nothing else of it changed. */

import { answer, api, ApiError } from "../api/client";
import type { Schedule } from "../api/words";

export async function switched(id: number, enabled: boolean): Promise<Schedule> {
  // what somebody changed since the page last asked goes along as it is now
  const found = (await answer(api.GET("/v1/schedules"))).find((each) => each.id === id);
  if (found === undefined) throw new ApiError(404, `There is no schedule ${id} any more.`);
  const { preset, overrides, cron, timezone, new_successes } = found;
  const body = { preset, overrides, cron, timezone, new_successes, enabled };
  return answer(api.PUT("/v1/schedules/{id}", { params: { path: { id } }, body }));
}
