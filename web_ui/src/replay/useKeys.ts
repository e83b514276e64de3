/** Keys act on the whole page, except where a key is text or a control of its own. */

import { useEffect } from "react";

/** Those that lead from one thing to the next: held down, they go on. */
const MOVING = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "j", "k"]);
/** Those that scroll a text the reader is in. */
const SCROLLING = new Set(["ArrowUp", "ArrowDown", "Home", "End"]);

/** `of` tells what a key does; undefined: nothing here. */
export function useKeys<Way extends string>(
  move: (way: Way) => void,
  of: (key: string) => Way | undefined,
): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => pressed(event, move, of);
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}

export function pressed<Way extends string>(
  event: KeyboardEvent,
  move: (way: Way) => void,
  of: (key: string) => Way | undefined,
): void {
  // where Caps Lock is on, too, letters are the keys that they stand on
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const way = isOfPage(event) ? of(key) : undefined;
  if (way === undefined) return;
  event.preventDefault();
  if (!event.repeat || MOVING.has(key)) move(way);
}

function isOfPage(event: KeyboardEvent): boolean {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof HTMLElement)) return false;
  if (target.closest("input, select, textarea, [role=dialog], [role=alertdialog]")) return false;
  if (key === " " && target.closest("button, a")) return false;
  return !(SCROLLING.has(key) && scrolls(target));
}

/** Up and down, and by itself: what has the focus, not what it lies in. */
function scrolls(element: HTMLElement): boolean {
  const { scrollHeight, clientHeight } = element;
  return scrollHeight > clientHeight && /auto|scroll/.test(getComputedStyle(element).overflowY);
}
