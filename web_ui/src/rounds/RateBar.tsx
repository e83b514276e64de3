/** A success rate and its 95 % interval: the figures, and where they lie between 0 and 100 %. */

import type { Rate } from "../api/words";
import { count, interval, NOTHING, percent } from "../format/numbers";

export function RateBar({ rate, compact = false }: { rate: Rate | null; compact?: boolean }) {
  if (rate === null) return <span className="text-faint">{NOTHING}</span>;
  const { success, low, high, episodes } = rate;
  return (
    <span
      className="inline-flex items-center gap-x-2.5 whitespace-nowrap max-sm:flex-col max-sm:items-end"
      title={`95 % interval ${interval(low, high)} % over ${count(episodes)} episodes`}
    >
      <span className="min-w-15 text-right font-semibold">{percent(success)}</span>
      <span
        aria-hidden
        className="relative h-3 w-20 shrink-0 border-x border-line before:absolute before:inset-x-0 before:top-1/2 before:border-t before:border-line max-sm:hidden"
      >
        <span
          className="absolute inset-y-0.5 rounded-xs bg-accent/30"
          style={{ left: `${low * 100}%`, right: `${100 - high * 100}%` }}
        />
        <span
          className="absolute inset-y-0 w-0.5 -translate-x-1/2 bg-accent"
          style={{ left: `${success * 100}%` }}
        />
      </span>
      <span className={`text-xs text-muted ${compact ? "sm:max-xl:hidden" : ""}`}>{interval(low, high)}</span>
    </span>
  );
}
