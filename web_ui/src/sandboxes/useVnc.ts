/** A sandbox's screen by noVNC, drawn into an element. It only looks: what a person does goes by `useSteering`. */

import { useEffect, useRef, useState } from "react";

/** After a screen that ended: by then the page knows whether the sandbox was given back. */
const AGAIN_MS = 1500;
const SELDOM_MS = 30_000;

export interface Size {
  width: number;
  height: number;
}

/** The element to draw into, and the size of what is drawn there in its own pixels; null: nothing is. */
export function useVnc(id: string, wanted: boolean) {
  const ref = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  const [tries, setTries] = useState(0);
  const failures = useRef(0);

  useEffect(() => {
    const element = ref.current;
    if (!wanted || element === null) return;
    let left = false;
    let leave: () => void = () => undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      if (left) return;
      setSize(null);
      const wait = Math.min(AGAIN_MS * 2 ** failures.current, SELDOM_MS);
      failures.current += 1;
      timer = setTimeout(() => setTries((before) => before + 1), wait);
    };
    const look = async () => {
      const { default: RFB } = await import("@novnc/novnc");
      if (left) return;
      const screen = new RFB(element, addressOf(id), { wsProtocols: ["binary"] });
      screen.viewOnly = true;
      screen.scaleViewport = true;
      screen.background = "transparent";
      const sizes = new MutationObserver(() => setSize(drawn(element)));
      screen.addEventListener("connect", () => {
        failures.current = 0;
        sizes.observe(element, { subtree: true, attributeFilter: ["width", "height"] });
        setSize(drawn(element));
      });
      screen.addEventListener("disconnect", () => {
        sizes.disconnect();
        leave = () => undefined;
        again();
      });
      leave = () => screen.disconnect();
    };
    look().catch(again);
    return () => {
      left = true;
      clearTimeout(timer);
      leave();
    };
  }, [id, wanted, tries]);
  return [ref, size] as const;
}

function addressOf(id: string): string {
  const address = new URL(`/v1/sandboxes/${id}/vnc`, window.location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return address.href;
}

function drawn(element: HTMLElement): Size | null {
  const canvas = element.querySelector("canvas");
  return canvas === null || canvas.width === 0 ? null : { width: canvas.width, height: canvas.height };
}
