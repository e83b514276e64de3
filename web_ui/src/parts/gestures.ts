/** What a person does at a screen, and how the agent's grammar writes it. Pure. */

export interface Spot {
  x: number;
  y: number;
}

export type Gesture =
  | { kind: "click"; at: Spot; button: "left" | "middle" | "right"; count: number }
  | { kind: "drag"; from: Spot; to: Spot }
  | { kind: "scroll"; at: Spot; dx: number; dy: number }
  | { kind: "text"; text: string }
  | { kind: "keys"; keys: readonly string[] };

export function written(gesture: Gesture): string {
  switch (gesture.kind) {
    case "click":
      return `${clickName(gesture.button, gesture.count)}(point=${point(gesture.at)})`;
    case "drag":
      return `drag(start_point=${point(gesture.from)}, end_point=${point(gesture.to)})`;
    case "scroll":
      return `scroll(point=${point(gesture.at)}, dx=${Math.round(gesture.dx)}, dy=${Math.round(gesture.dy)})`;
    case "text":
      return `type(content=${quoted(gesture.text)})`;
    case "keys":
      return `hotkey(key=${quoted(gesture.keys.map((key) => (key === " " ? "space" : key)).join(" "))})`;
  }
}

function clickName(button: "left" | "middle" | "right", count: number): string {
  if (button === "right") return "right_single";
  if (button === "middle") return "middle_single";
  return count >= 3 ? "left_triple" : count === 2 ? "left_double" : "click";
}

function point({ x, y }: Spot): string {
  return `'<point>${x} ${y}</point>'`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}

/** The pixel of a picture of `size` under a place in the box it fills. */
export function spotAt(
  place: Spot,
  box: { left: number; top: number; width: number; height: number },
  size: { width: number; height: number },
): Spot {
  const within = (share: number, pixels: number) =>
    Math.min(Math.max(Math.floor(share * pixels), 0), pixels - 1);
  return {
    x: within((place.x - box.left) / Math.max(box.width, 1), size.width),
    y: within((place.y - box.top) / Math.max(box.height, 1), size.height),
  };
}

/** Pixels between two clicks that are one double click. */
const NEAR_PX = 3;

/** Two gestures that follow at once as the one they are: typing, a double or a triple click; null: they are two. */
export function joined(before: Gesture, after: Gesture): Gesture | null {
  if (before.kind === "text" && after.kind === "text") return { ...before, text: before.text + after.text };
  if (before.kind !== "click" || after.kind !== "click") return null;
  const far = Math.hypot(before.at.x - after.at.x, before.at.y - after.at.y) > NEAR_PX;
  if (far || before.button !== "left" || after.button !== "left" || before.count === 3) return null;
  return { ...before, count: before.count + 1 };
}

const MODIFIERS = new Set(["Control", "Shift", "Alt", "AltGraph", "Meta"]);

interface Pressed {
  key: string;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  getModifierState: (name: string) => boolean;
}

/** What a key on the keyboard means at the screen; null for a modifier alone and what no keyboard name has. */
export function gestureOfKey(event: Pressed): Gesture | null {
  const { key } = event;
  if (MODIFIERS.has(key) || key === "Dead" || key === "Unidentified" || key === "Process") return null;
  const held = [
    ...(event.ctrlKey ? ["Control"] : []),
    ...(event.altKey ? ["Alt"] : []),
    ...(event.metaKey ? ["Meta"] : []),
  ];
  const prints = Array.from(key).length === 1;
  // Option on a Mac and AltGr, told as Control and Alt by some, make characters: @ [ ] { } | on many keyboards
  const made = held.join() === "Alt" ? !/[A-Za-z0-9 ]/.test(key) : event.getModifierState("AltGraph");
  if (prints && (held.length === 0 || made)) return { kind: "text", text: key };
  return { kind: "keys", keys: [...held, ...(event.shiftKey && !prints ? ["Shift"] : []), key] };
}
