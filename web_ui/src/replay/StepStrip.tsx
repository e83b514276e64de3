/**
 * All steps at a glance: each a bar as high and as green as its score is good, with the critic's value as a dot.
 *
 * Only the cells on the screen exist; those whose step is not loaded yet are empty, and can be gone to all the same.
 */

import { useVirtualizer } from "@tanstack/react-virtual";
import { startTransition, useEffect, useEffectEvent, useLayoutEffect, useMemo } from "react";

import { figure, signed } from "../format/numbers";
import { useBox } from "../parts/useBox";
import type { Span } from "./pages";
import { cellWidth, scaleOf, scoreColour, type Cell } from "./strip";

const GAP_PX = 4;
const PAD_PX = 8;
const CELL =
  "flex w-full flex-col overflow-hidden rounded border border-line aria-[current=step]:border-accent aria-[current=step]:shadow-[0_0_0_1px_var(--accent)]";

export function StepStrip({
  cells,
  stop,
  ended,
  success,
  onStop,
  onShown,
}: {
  cells: readonly (Cell | null)[];
  stop: number;
  /** There is a screen after the last action. */
  ended: boolean;
  success: boolean | null;
  onStop: (stop: number) => void;
  /** Told which cells are on the screen. */
  onShown: (shown: Span) => void;
}) {
  const { scored, top } = useMemo(() => scaleOf(cells), [cells]);
  const judged = scored || top !== null;
  const [box, scroll] = useBox({ width: 0, height: 0 });
  const count = cells.length + (ended ? 1 : 0);
  const width = cellWidth(box.width - 2 * PAD_PX, count, GAP_PX);
  // eslint-disable-next-line react-hooks/incompatible-library -- its functions are called in this component only
  const virtual = useVirtualizer({
    horizontal: true,
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => width,
    gap: GAP_PX,
    paddingStart: PAD_PX,
    paddingEnd: PAD_PX,
    scrollPaddingStart: PAD_PX,
    scrollPaddingEnd: PAD_PX,
    overscan: 8,
    // it opens where one is: the steps at the beginning need not be loaded for that
    initialOffset: () => stop * (width + GAP_PX),
    // a held key asks for more renders at once than React allows: it may draw the strip when it gets to it
    useFlushSync: false,
  });
  const shown = virtual.getVirtualItems();
  const first = shown.at(0)?.index;
  const last = shown.at(-1)?.index;
  const tell = useEffectEvent(onShown);
  useEffect(() => {
    if (first !== undefined && last !== undefined) startTransition(() => tell([first, last]));
  }, [first, last]);
  // before it is drawn: cells of another width where the old ones stood would cover each other
  useLayoutEffect(() => virtual.measure(), [virtual, width]);
  useEffect(() => virtual.scrollToIndex(stop, { align: "auto" }), [virtual, stop, width]);
  return (
    <>
      <div ref={scroll} className="min-w-0 flex-1 overflow-x-auto py-2" data-testid="strip">
        <ol
          aria-label="Steps"
          className={`relative ${judged ? "h-[3.625rem]" : "h-[1.625rem]"}`}
          style={{ width: virtual.getTotalSize() }}
        >
          {shown.map(({ index, start }) => (
            <li
              key={index}
              aria-setsize={count}
              aria-posinset={index + 1}
              className="absolute top-0 left-0"
              style={{ width, transform: `translateX(${start}px)` }}
            >
              {index === cells.length ? (
                <EndButton here={index === stop} success={success} judged={judged} onGo={() => onStop(index)} />
              ) : (
                <StepButton
                  index={index}
                  cell={cells[index] ?? null}
                  here={index === stop}
                  top={top ?? 1}
                  judged={judged}
                  onGo={() => onStop(index)}
                />
              )}
            </li>
          ))}
        </ol>
      </div>
      <Legend scored={scored} valued={top !== null} />
    </>
  );
}

function StepButton({
  index,
  cell,
  here,
  top,
  judged,
  onGo,
}: {
  index: number;
  cell: Cell | null;
  here: boolean;
  top: number;
  judged: boolean;
  onGo: () => void;
}) {
  const name = cell === null ? `step ${index}` : told(cell);
  return (
    <button
      type="button"
      aria-current={here ? "step" : undefined}
      aria-label={name}
      title={name}
      onClick={onGo}
      className={CELL}
    >
      {judged ? <Bar cell={cell} top={top} /> : null}
      <span className="flex h-6 w-full items-center justify-between gap-1 px-1.5 text-xs">
        <span className="text-muted">{index}</span>
        <span className={cell?.trouble ? "text-bad" : ""} aria-hidden>
          {cell === null ? "" : cell.trouble ? "!" : cell.sign}
        </span>
      </span>
    </button>
  );
}

function Bar({ cell, top }: { cell: Cell | null; top: number }) {
  const { score, value } = cell ?? { score: null, value: null };
  return (
    <span className="relative block h-8 w-full bg-raised">
      {score === null ? null : (
        <span
          className="absolute inset-x-0 bottom-0"
          style={{ height: `${Math.max(score * 100, 6)}%`, background: scoreColour(score) }}
        />
      )}
      {value === null ? null : (
        <span
          className="absolute left-1/2 size-1.5 -translate-x-1/2 translate-y-1/2 rounded-full border border-surface bg-ink"
          style={{ bottom: `${Math.min(Math.max(value / top, 0.04), 0.96) * 100}%` }}
        />
      )}
    </span>
  );
}

function EndButton({
  here,
  success,
  judged,
  onGo,
}: {
  here: boolean;
  success: boolean | null;
  judged: boolean;
  onGo: () => void;
}) {
  return (
    <button
      type="button"
      aria-current={here ? "step" : undefined}
      title="The screen after the last action"
      onClick={onGo}
      className={CELL}
    >
      <span
        className={`grid ${judged ? "h-8" : "h-6"} w-full place-items-center bg-raised ${success ? "text-good" : success === false ? "text-bad" : "text-muted"}`}
        aria-hidden
      >
        {success ? "✓" : success === false ? "✕" : "■"}
      </span>
      {judged ? (
        <span className="grid h-6 w-full place-items-center text-xs text-muted">end</span>
      ) : (
        <span className="sr-only">end</span>
      )}
    </button>
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
