/** Sends what a person does at a live screen, one action after the other; typing and a double click are one each. */

import { useEffect, useEffectEvent, useRef, useState } from "react";

import { answer, api, ApiError } from "../api/client";
import { gestureOfKey, joined, written, type Gesture } from "../parts/gestures";
import { Handing, type Done } from "./handing";

/** Keys that follow each other faster than this are one text. */
const TYPING_MS = 400;
/** Clicks that follow each other faster than this are a double click. */
const CLICKING_MS = 300;
/** Between two questions whether the action before has been carried out. */
const AGAIN_MS = 150;
/** Where a key is not for the screen. */
const ELSEWHERE = "input, select, textarea, button, a, [role=dialog], [role=alertdialog]";

export interface Steering {
  act: (gesture: Gesture) => void;
  /** An action in the agent's grammar. */
  say: (reply: string) => void;
  /** The newest first. */
  done: readonly Done[];
  /** Until everything that was done is handed over. */
  settled: () => Promise<void>;
}

/** `leave` takes the focus off the screen: every other key goes there. */
export function useSteering(trajectory: string | null, holding: boolean, leave: () => void): Steering {
  const [done, setDone] = useState<readonly Done[]>([]);
  const [handing] = useState(() => new Handing(setDone));
  const waiting = useRef<Gesture | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const held = useRef(holding);
  useEffect(() => {
    held.current = holding;
  }, [holding]);

  const say = (reply: string) => {
    if (trajectory !== null) handing.add(reply, () => send(trajectory, reply, () => held.current));
  };
  const flush = () => {
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = null;
    const gesture = waiting.current;
    waiting.current = null;
    if (gesture !== null) say(written(gesture));
  };
  const act = (gesture: Gesture) => {
    const one = waiting.current === null ? gesture : joined(waiting.current, gesture);
    if (one === null) flush();
    waiting.current = one ?? gesture;
    if (timer.current !== null) clearTimeout(timer.current);
    const waits = gesture.kind === "text" ? TYPING_MS : gesture.kind === "click" ? CLICKING_MS : null;
    if (waits === null) flush();
    else timer.current = setTimeout(flush, waits);
  };

  const press = useEffectEvent((event: KeyboardEvent) => {
    if (event.target instanceof HTMLElement && event.target.closest(ELSEWHERE)) return;
    if (event.key === "Escape" && event.shiftKey) {
      leave();
      return;
    }
    const gesture = gestureOfKey(event);
    if (gesture === null) return;
    event.preventDefault();
    act(gesture);
  });
  useEffect(() => {
    if (!holding) return;
    const listen = (event: KeyboardEvent) => press(event);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [holding]);
  const settled = () => {
    flush();
    return handing.settled();
  };
  return { act, say, done, settled };
}

/** Hands an action over; the platform waits a while for the one before, and is asked again after that. */
async function send(id: string, reply: string, holding: () => boolean): Promise<void> {
  for (;;) {
    try {
      await answer(
        api.POST("/v1/trajectories/{id}/takeover/actions", { params: { path: { id } }, body: { reply } }),
      );
      return;
    } catch (error) {
      const busy = error instanceof ApiError && error.status === 409 && holding();
      if (!busy || error.state !== "pending") throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}
