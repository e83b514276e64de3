/** Whether the window is as narrow as a phone; changes with it. */

import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 40rem)";

export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = window.matchMedia(NARROW);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => window.matchMedia(NARROW).matches,
  );
}
