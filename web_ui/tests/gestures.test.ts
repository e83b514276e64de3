import { describe, expect, it } from "vitest";

import { gestureOfKey, joined, spotAt, written, type Gesture } from "../src/parts/gestures";

const plain = { ctrlKey: false, altKey: false, metaKey: false, shiftKey: false, getModifierState: () => false };

describe("gestures", () => {
  it("are written in the agent's grammar", () => {
    const at = { x: 40, y: 52 };
    expect(written({ kind: "click", at, button: "left", count: 1 })).toBe("click(point='<point>40 52</point>')");
    expect(written({ kind: "click", at, button: "left", count: 2 })).toMatch(/^left_double\(/);
    expect(written({ kind: "click", at, button: "right", count: 1 })).toMatch(/^right_single\(/);
    expect(written({ kind: "drag", from: at, to: { x: 1, y: 2 } })).toBe(
      "drag(start_point='<point>40 52</point>', end_point='<point>1 2</point>')",
    );
    expect(written({ kind: "scroll", at, dx: 0.4, dy: -119.6 })).toContain("dx=0, dy=-120");
    expect(written({ kind: "text", text: "it's \\ a\nline" })).toBe("type(content='it\\'s \\\\ a\\nline')");
    expect(written({ kind: "keys", keys: ["Control", " "] })).toBe("hotkey(key='Control space')");
  });

  it("of keys are text where they print, and names otherwise", () => {
    expect(gestureOfKey({ ...plain, key: "a" })).toEqual({ kind: "text", text: "a" });
    expect(gestureOfKey({ ...plain, key: "A", shiftKey: true })).toEqual({ kind: "text", text: "A" });
    expect(gestureOfKey({ ...plain, key: "a", ctrlKey: true })).toEqual({ kind: "keys", keys: ["Control", "a"] });
    expect(gestureOfKey({ ...plain, key: "Tab", shiftKey: true })).toEqual({ kind: "keys", keys: ["Shift", "Tab"] });
    expect(gestureOfKey({ ...plain, key: "Shift", shiftKey: true })).toBeNull();
    expect(gestureOfKey({ ...plain, key: "Dead" })).toBeNull();
  });

  it("of keys that Option or AltGr made a character of are text", () => {
    const option = { ...plain, altKey: true };
    for (const key of ["@", "[", "|", "€", "å"])
      expect(gestureOfKey({ ...option, key })).toEqual({ kind: "text", text: key });
    for (const key of ["f", "4", " ", "ArrowLeft"])
      expect(gestureOfKey({ ...option, key })).toEqual({ kind: "keys", keys: ["Alt", key] });
    const graph = { ...plain, getModifierState: (name: string) => name === "AltGraph" };
    expect(gestureOfKey({ ...graph, key: "@" })).toEqual({ kind: "text", text: "@" });
    expect(gestureOfKey({ ...graph, ctrlKey: true, altKey: true, key: "@" })).toEqual({ kind: "text", text: "@" });
    expect(gestureOfKey({ ...option, ctrlKey: true, key: "@" })).toEqual({
      kind: "keys",
      keys: ["Control", "Alt", "@"],
    });
    expect(gestureOfKey({ ...graph, key: "AltGraph" })).toBeNull();
  });

  it("that follow at once are one where they belong together", () => {
    const click: Gesture = { kind: "click", at: { x: 5, y: 5 }, button: "left", count: 1 };
    const text: Gesture = { kind: "text", text: "a" };
    expect(joined(text, { kind: "text", text: "b" })).toEqual({ kind: "text", text: "ab" });
    expect(joined(click, { ...click, at: { x: 6, y: 4 } })).toEqual({ ...click, count: 2 });
    expect(joined({ ...click, count: 2 }, click)).toEqual({ ...click, count: 3 });
    expect(joined({ ...click, count: 3 }, click)).toBeNull();
    expect(joined(click, { ...click, at: { x: 50, y: 5 } })).toBeNull();
    expect(joined(click, { ...click, button: "right" })).toBeNull();
    expect(joined(click, text)).toBeNull();
  });

  it("fall on a pixel of the picture, never beside it", () => {
    const box = { left: 10, top: 20, width: 320, height: 420 };
    const size = { width: 160, height: 210 };
    expect(spotAt({ x: 10, y: 20 }, box, size)).toEqual({ x: 0, y: 0 });
    expect(spotAt({ x: 51.9, y: 81.9 }, box, size)).toEqual({ x: 20, y: 30 });
    expect(spotAt({ x: 330, y: 440 }, box, size)).toEqual({ x: 159, y: 209 });
    expect(spotAt({ x: -5, y: 9999 }, box, size)).toEqual({ x: 0, y: 209 });
  });
});
