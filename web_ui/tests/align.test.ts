import { describe, expect, it } from "vitest";

import { align, cutOf, divergence, MOST_STEPS, type Row, type Seen } from "../src/compare/align";

/** "a1 b2" is action 1 on screen a, then action 2 on screen b. */
function episode(text: string): Seen[] {
  return text.split(" ").flatMap((step) => (step === "" ? [] : [{ screen: step.slice(0, 1), did: step.slice(1) }]));
}

function told(rows: readonly Row[]): string {
  const sign = { all: "=", screen: "~", nothing: "!" };
  return rows.map(({ one, other, same }) => `${one ?? "-"}${sign[same]}${other ?? "-"}`).join(" ");
}

describe("two episodes side by side", () => {
  it("go together until one does something else", () => {
    const rows = align(episode("a1 b1 c1"), episode("a1 b2 d1"));
    expect(told(rows)).toBe("0=0 1~1 2!2");
    expect(divergence(rows)).toBe(1);
  });

  it("meet again on a screen that both come to", () => {
    const rows = align(episode("a1 b1 c1 d1 e1"), episode("a2 d1 e1"));
    expect(told(rows)).toBe("0~0 1!- 2!- 3=1 4=2");
  });

  it("are the same, or one of them ends before the other", () => {
    expect(divergence(align(episode("a1 b1"), episode("a1 b1")))).toBeNull();
    const rows = align(episode("a1 b1 c1"), episode("a1"));
    expect(told(rows)).toBe("0=0 1!- 2!-");
    expect(divergence(rows)).toBe(1);
    expect(told(align([], episode("a1")))).toBe("-!0");
    expect(align([], [])).toEqual([]);
  });

  it("keep every step of both, once and in order, whatever they saw", () => {
    let state = 7;
    const draw = (below: number) => (state = (state * 1103515245 + 12345) % 2147483648) % below;
    for (let time = 0; time < 200; time += 1) {
      const [one, other] = [0, 1].map(() =>
        Array.from({ length: draw(9) }, () => ({ screen: String(draw(4)), did: String(draw(2)) })),
      ) as [Seen[], Seen[]];
      const rows = align(one, other);
      expect(rows.flatMap((row) => row.one ?? [])).toEqual([...one.keys()]);
      expect(rows.flatMap((row) => row.other ?? [])).toEqual([...other.keys()]);
      for (const row of rows)
        if (row.same !== "nothing") expect(one[row.one ?? -1]?.screen).toBe(other[row.other ?? -1]?.screen);
    }
  });

  it("are laid out by number where their screens are too many to compare", () => {
    const long = Array.from({ length: 2100 }, (_, at) => ({ screen: `x${at}`, did: "" }));
    const other = Array.from({ length: 2000 }, (_, at) => ({ screen: `y${at}`, did: "" }));
    const rows = align(long, other);
    expect(rows).toHaveLength(2100);
    expect(rows.at(-1)).toEqual({ one: 2099, other: null, same: "nothing" });
  });
});

describe("an episode that is longer than what is compared", () => {
  it("says how much of it is", () => {
    expect(cutOf(MOST_STEPS)).toBeNull();
    expect(cutOf(12_345)).toBe("The first 2,000 of 12,345 steps are compared.");
  });
});
