/** The steps of both, row by row; the first row where they part is marked. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";

import type { Step } from "../api/words";
import { signOf } from "../replay/strip";
import type { Row } from "./align";

const ROW_PX = 32;
const WORDS = { all: "the same", screen: "the same screen, another action", nothing: "apart" };
const LOOKS = { all: "text-muted", screen: "text-warn", nothing: "" };

export function RowList({
  rows,
  one,
  other,
  cut,
  at,
  parts,
  onRow,
}: {
  rows: readonly Row[];
  one: readonly Step[];
  other: readonly Step[];
  /** Which of the two goes on behind its last step here. */
  cut: { one: boolean; other: boolean };
  /** The row that is shown; behind the last one: the ends. */
  at: number;
  /** The first where the two part. */
  parts: number | null;
  onRow: (row: number) => void;
}) {
  const scroll = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- its functions are called in this component only
  const virtual = useVirtualizer({
    count: rows.length + 1,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  useEffect(() => virtual.scrollToIndex(at, { align: "auto" }), [virtual, at]);
  return (
    <section className="panel min-w-0" aria-label="Both, step by step">
      <p className="border-b border-line px-3 py-2">
        {parts !== null
          ? `They part at row ${parts}.`
          : cut.one || cut.other
            ? "As far as they are compared they do not part."
            : "They never part."}
      </p>
      <div ref={scroll} className="h-48 overflow-auto lg:h-[max(20rem,calc(100dvh-12rem))]">
        <ol className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, size }) => {
            const row = rows[index];
            const word = row ? WORDS[row.same] : cut.one || cut.other ? "no further compared" : "the ends";
            return (
              <li
                key={index}
                aria-setsize={rows.length + 1}
                aria-posinset={index + 1}
                className="absolute inset-x-0 top-0"
                style={{ height: size, transform: `translateY(${start}px)` }}
              >
                <button
                  type="button"
                  aria-current={index === at ? "step" : undefined}
                  title={word}
                  onClick={() => onRow(index)}
                  className={`grid h-full w-full grid-cols-[1fr_auto_1fr] items-center border-b border-line px-3 hover:bg-raised aria-[current=step]:bg-raised aria-[current=step]:font-semibold ${row ? LOOKS[row.same] : ""} ${index === parts ? "border-t-2 border-t-bad" : ""}`}
                >
                  <span className="sr-only">{`Row ${index}: ${word}${index === parts ? ", where they part" : ""}.`}</span>
                  <Cell index={row ? row.one : one.length} steps={one} cut={cut.one} />
                  <span aria-hidden className="px-2">
                    {row ? { all: "=", screen: "≠", nothing: "·" }[row.same] : "■"}
                  </span>
                  <Cell index={row ? row.other : other.length} steps={other} cut={cut.other} />
                </button>
              </li>
            );
          })}
        </ol>
      </div>
    </section>
  );
}

function Cell({ index, steps, cut }: { index: number | null; steps: readonly Step[]; cut: boolean }) {
  if (index === null) return <span className="text-faint">–</span>;
  const step = steps[index];
  return (
    <span className="flex items-center justify-center gap-2">
      <span className="text-xs text-muted">{step ? index : cut ? "…" : "end"}</span>
      <span aria-hidden>{step ? signOf(step) : ""}</span>
    </span>
  );
}
