/** All steps at a glance: each a bar as high and as green as its score is good, with the critic's value as a dot. */

import { useEffect, useRef } from "react";

import { figure, signed } from "../format/numbers";
import { scoreColour, type Cell } from "./strip";

export function StepStrip({
  cells,
  stop,
  ended,
  success,
  onStop,
}: {
  cells: readonly Cell[];
  stop: number;
  /** There is a screen after the last action. */
  ended: boolean;
  success: boolean | null;
  onStop: (stop: number) => void;
}) {
  const here = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    here.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [stop]);
  const values = cells.map((cell) => cell.value).filter((value) => value !== null);
  const top = Math.max(1, ...values);
  const judged = values.length > 0 || cells.some((cell) => cell.score !== null);
  return (
    <>
      <ol aria-label="Steps" className="flex min-w-0 flex-1 gap-1 overflow-x-auto p-2">
        {cells.map((cell) => (
          <li key={cell.index} className="max-w-20 min-w-9 flex-1">
            <button
              ref={cell.index === stop ? here : null}
              type="button"
              aria-current={cell.index === stop ? "step" : undefined}
              aria-label={told(cell)}
              title={told(cell)}
              onClick={() => onStop(cell.index)}
              className="flex w-full flex-col overflow-hidden rounded border border-line aria-[current=step]:border-accent aria-[current=step]:shadow-[0_0_0_1px_var(--accent)]"
            >
              <span className="relative block h-8 w-full bg-raised">
                {cell.score === null ? null : (
                  <span
                    className="absolute inset-x-0 bottom-0"
                    style={{
                      height: `${Math.max(cell.score * 100, 6)}%`,
                      background: scoreColour(cell.score),
                    }}
                  />
                )}
                {cell.value === null ? null : (
                  <span
                    className="absolute left-1/2 size-1.5 -translate-x-1/2 translate-y-1/2 rounded-full border border-surface bg-ink"
                    style={{ bottom: `${Math.min(Math.max(cell.value / top, 0.04), 0.96) * 100}%` }}
                  />
                )}
              </span>
              <span className="flex h-6 w-full items-center justify-between gap-1 px-1.5 text-xs">
                <span className="text-muted">{cell.index}</span>
                <span className={cell.trouble ? "text-bad" : ""} aria-hidden>
                  {cell.trouble ? "!" : cell.sign}
                </span>
              </span>
            </button>
          </li>
        ))}
        {ended ? (
          <li className="w-12 shrink-0">
            <button
              ref={stop === cells.length ? here : null}
              type="button"
              aria-current={stop === cells.length ? "step" : undefined}
              title="The screen after the last action"
              onClick={() => onStop(cells.length)}
              className="flex w-full flex-col overflow-hidden rounded border border-line aria-[current=step]:border-accent aria-[current=step]:shadow-[0_0_0_1px_var(--accent)]"
            >
              <span
                className={`grid ${judged ? "h-8" : "h-6"} w-full place-items-center bg-raised ${success ? "text-good" : success === false ? "text-bad" : "text-muted"}`}
                aria-hidden
              >
                {success ? "✓" : success === false ? "✕" : "■"}
              </span>
              {judged ? (
                <span className="grid h-6 w-full place-items-center text-xs text-muted">end</span>
              ) : null}
            </button>
          </li>
        ) : null}
      </ol>
      <Legend scored={cells.some((cell) => cell.score !== null)} valued={values.length > 0} />
    </>
  );
}

function Legend({ scored, valued }: { scored: boolean; valued: boolean }) {
  if (!scored && !valued) return null;
  return (
    <ul className="flex shrink-0 flex-col gap-1 px-4 text-xs text-muted max-md:hidden">
      {scored ? (
        <li className="flex items-center gap-2">
          <span
            aria-hidden
            className="h-3 w-2.5 rounded-xs"
            style={{ background: "linear-gradient(to top, var(--bad), var(--faint), var(--good))" }}
          />{" "}
          process score
        </li>
      ) : null}
      {valued ? (
        <li className="flex items-center gap-2">
          <span aria-hidden className="mx-0.5 size-1.5 rounded-full bg-ink" /> value
        </li>
      ) : null}
    </ul>
  );
}

function told(cell: Cell): string {
  const parts = [
    `step ${cell.index}`,
    ...(cell.score === null ? [] : [`score ${figure(cell.score)}`]),
    ...(cell.value === null ? [] : [`value ${figure(cell.value)}`]),
    ...(cell.reward === 0 ? [] : [`reward ${signed(cell.reward)}`]),
    ...(cell.trouble ? ["error"] : []),
  ];
  return parts.join(", ");
}
