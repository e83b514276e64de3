import { expect, it } from "vitest";

import { bytes, readLimit, share, typedLimit } from "../src/admin/amounts";
import { readAdmin } from "../src/admin/search";
import { standing } from "../src/admin/standing";

it("amounts are shown and read back", () => {
  expect([0, 999, 1500, 50e9, 2.5e12].map(bytes)).toEqual(["0 B", "999 B", "1.5 kB", "50 GB", "2.5 TB"]);
  expect(["50 GB", "1.5 kB", "7", " 20,000 ", "", "x", "1.5", "-1"].map(readLimit)).toEqual([
    50e9,
    1500,
    7,
    20_000,
    null,
    undefined,
    undefined,
    undefined,
  ]);
  expect(share("tasks", 3, 20_000)).toBe("3 of 20,000");
  expect(share("bytes", 1500, null)).toBe("1.5 kB");
});

it("a token says whether it opens anything", () => {
  expect(standing({ revoked_at_s: 5, expires_at_s: null }, 9)).toBe("nothing: revoked");
  expect(standing({ revoked_at_s: null, expires_at_s: null }, 9)).toBe("until revoked");
  expect(standing({ revoked_at_s: null, expires_at_s: 9 }, 9)).toBe("nothing: expired");
  expect(standing({ revoked_at_s: null, expires_at_s: 10 }, 9)).toMatch(/^until \d{4}-/);
});

it("an address names a part that there is", () => {
  expect(readAdmin({ part: "audit" })).toEqual({ part: "audit" });
  expect(readAdmin({ part: "<b>" })).toEqual({});
});

it("a limit that nobody types anew stays as it is, to the byte", () => {
  for (const limit of [0, 999, 1500, 53_687_091_200, 2 ** 53, null])
    expect(readLimit(typedLimit("bytes", limit))).toBe(limit);
  expect([50e9, 53_687_091_200].map((limit) => typedLimit("bytes", limit))).toEqual(["50 GB", "53687091200"]);
  expect(typedLimit("tasks", 20_000)).toBe("20000");
});
