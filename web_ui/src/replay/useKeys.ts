/** Keys act on the whole page, except where a key is text or a control of its own. */

import { useEffect } from "react";

/** `of` tells what a key does; undefined: nothing here. */
export function useKeys<Way extends string>(
  move: (way: Way) => void,
  of: (key: string) => Way | undefined,
): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLElement)) return;
      if (event.target.closest("input, select, textarea, [role=dialog], [role=alertdialog]")) return;
      if (event.key === " " && event.target.closest("button, a")) return;
      const way = of(event.key);
      if (way === undefined) return;
      event.preventDefault();
      move(way);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}
