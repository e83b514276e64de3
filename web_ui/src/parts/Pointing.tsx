/** Lies over a picture and tells what is done with the mouse there, in the picture's pixels. */

import { useEffect, useEffectEvent, useRef } from "react";

import { spotAt, type Gesture, type Spot } from "./gestures";

const BUTTONS = ["left", "middle", "right"] as const;
/** Pixels on this screen that a pressed mouse may slip without it being a drag. */
const SLIP_PX = 4;
/** Turns of the wheel that come in one go are one action. */
const WHEEL_MS = 150;

export function Pointing({
  size,
  label,
  keys = false,
  wheel = "always",
  onGesture,
}: {
  size: { width: number; height: number };
  label: string;
  /** Whether keys act there too: then it can be reached by them. */
  keys?: boolean;
  /** When turns of the wheel are told: without Alt they may be left to the page, which scrolls. */
  wheel?: "always" | "with Alt";
  onGesture: (gesture: Gesture) => void;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const pressed = useRef<{ at: Spot; on: Spot } | null>(null);
  const spot = (event: { clientX: number; clientY: number; currentTarget: Element }): Spot =>
    spotAt({ x: event.clientX, y: event.clientY }, event.currentTarget.getBoundingClientRect(), size);
  const tell = useEffectEvent(onGesture);
  const sized = useEffectEvent((place: Spot, box: DOMRect) => spotAt(place, box, size));

  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    let turned: { at: Spot; dx: number; dy: number } | null = null;
    // React listens to wheels passively: only a listener of one's own may keep the page from scrolling
    const turn = (event: WheelEvent) => {
      if (wheel === "with Alt" && !event.altKey) return;
      event.preventDefault();
      const at = sized({ x: event.clientX, y: event.clientY }, element.getBoundingClientRect());
      if (turned === null) {
        turned = { at, dx: 0, dy: 0 };
        setTimeout(() => {
          if (turned !== null) tell({ kind: "scroll", ...turned });
          turned = null;
        }, WHEEL_MS);
      }
      turned.dx += event.deltaX;
      turned.dy += event.deltaY;
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [wheel]);

  return (
    <div
      ref={ref}
      role="application"
      aria-label={label}
      tabIndex={keys ? 0 : undefined}
      className="absolute inset-0 cursor-crosshair touch-none select-none"
      onContextMenu={(event) => event.preventDefault()}
      onPointerDown={(event) => {
        pressed.current = { at: spot(event), on: { x: event.clientX, y: event.clientY } };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerUp={(event) => {
        const began = pressed.current;
        pressed.current = null;
        if (began === null) return;
        const to = spot(event);
        const far = Math.hypot(event.clientX - began.on.x, event.clientY - began.on.y) > SLIP_PX;
        if (far && event.button === 0) onGesture({ kind: "drag", from: began.at, to });
        else onGesture({ kind: "click", at: to, button: BUTTONS[event.button] ?? "left", count: 1 });
      }}
      onPointerCancel={() => {
        pressed.current = null;
      }}
    />
  );
}
