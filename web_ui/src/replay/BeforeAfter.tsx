/** The screen before a step and after it, one over the other, with a slider between them. */

import { useState } from "react";

import type { ImageRef } from "../api/words";
import { useBox } from "../parts/useBox";
import { fitScale } from "./marks";

export function BeforeAfter({
  before,
  after,
  pixelated,
}: {
  before: ImageRef;
  after: ImageRef;
  pixelated: boolean;
}) {
  const [box, ref] = useBox({ width: 320, height: 420 });
  const [share, setShare] = useState(50);
  const scale = fitScale({ width: before.width_px, height: before.height_px }, box);
  const size = { width: before.width_px * scale, height: before.height_px * scale };
  const look = pixelated ? "[image-rendering:pixelated]" : "";
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col gap-2">
      <div ref={ref} className="grid min-h-0 min-w-0 flex-1 place-items-center overflow-hidden">
        <div className="relative shrink-0 shadow-[0_0_0_1px_var(--line)]" style={size}>
          <img src={after.url} alt="Screen after the step" {...size} className={`absolute inset-0 ${look}`} />
          <img
            src={before.url}
            alt="Screen before the step"
            {...size}
            className={`absolute inset-0 ${look}`}
            style={{ clipPath: `inset(0 ${100 - share}% 0 0)` }}
            data-testid="before"
          />
          <span aria-hidden className="absolute inset-y-0 w-0.5 bg-accent" style={{ left: `${share}%` }} />
        </div>
      </div>
      <label className="flex items-center gap-2 text-xs text-muted">
        before
        <input
          type="range"
          aria-label="Between before and after"
          className="min-w-0 flex-1 accent-accent"
          min={0}
          max={100}
          value={share}
          onChange={(event) => setShare(Number(event.target.value))}
        />
        after
      </label>
    </div>
  );
}
