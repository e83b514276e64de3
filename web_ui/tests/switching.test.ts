import { afterEach, expect, test, vi } from "vitest";

import { api } from "../src/api/client";
import { switched } from "../src/rounds/switching";

afterEach(() => void vi.restoreAllMocks());

const changed = {
  id: 2,
  preset: "flywheel",
  overrides: { "ppo.iterations": 10 },
  cron: "0 4 * * *",
  timezone: "Europe/Berlin",
  new_successes: null,
};

function there(schedules: object[]) {
  const response = new Response();
  vi.spyOn(api, "GET").mockResolvedValue({ data: schedules, response });
  return vi.spyOn(api, "PUT").mockResolvedValue({ data: changed, response });
}

test("a schedule is switched as it is now, whatever the page shows of it", async () => {
  const put = there([{ id: 1, preset: "smoke" }, { ...changed, enabled: true, note: null, next_at_s: 3 }]);
  await switched(2, false);
  const { id, ...rest } = changed;
  expect(put).toHaveBeenCalledExactlyOnceWith("/v1/schedules/{id}", {
    params: { path: { id } },
    body: { ...rest, enabled: false },
  });
});

test("one that was deleted meanwhile is not", async () => {
  const put = there([]);
  await expect(switched(2, false)).rejects.toThrow("no schedule 2 any more");
  expect(put).not.toHaveBeenCalled();
});
