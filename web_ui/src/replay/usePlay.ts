/** Plays a replay: one stop after the other until the last. */

import { useEffect, useEffectEvent, useState } from "react";

/** How long a step is shown, played at its own pace. */
const STEP_MS = 900;

export function usePlay(stop: number, stops: number, go: (stop: number) => void, speed = 1) {
  const [wanted, setWanted] = useState(false);
  const playing = wanted && stop < stops - 1;
  const advance = useEffectEvent(() => go(stop + 1));

  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => advance(), STEP_MS / speed);
    return () => clearTimeout(timer);
  }, [playing, stop, speed]);

  return {
    playing,
    pause: () => setWanted(false),
    toggle: () => {
      if (playing) {
        setWanted(false);
        return;
      }
      setWanted(true);
      if (stop >= stops - 1) go(0);
    },
  };
}
