/** Reward, value, scores and advantage of every step, one row each; a click goes to the step. */

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { curvesQuery } from "../api/queries";
import type { Curves } from "../api/words";
import { figure } from "../format/numbers";
import { useBox } from "../parts/useBox";
import { Failed, Loading } from "../parts/Notice";
import { extent, pathOf, stepAt } from "./curves";

const HEIGHT = 34;

interface Line {
  name: string;
  values: readonly (number | null)[];
  colour: string;
}

export function CurvesPanel({
  id,
  turns,
  stop,
  onStop,
}: {
  id: string;
  turns: number;
  stop: number;
  onStop: (stop: number) => void;
}) {
  const curves = useQuery(curvesQuery(id, turns));
  const lines = useMemo(() => (curves.data ? linesOf(curves.data) : []), [curves.data]);
  if (curves.isLoadingError) return <Failed error={curves.error} again={() => void curves.refetch()} />;
  if (!curves.data) return <Loading rows={2} label="Loading the curves" />;
  return (
    <div className="flex flex-col gap-2 p-3">
      {lines.map((line) => (
        <Row key={line.name} line={line} count={turns} stop={stop} onStop={onStop} />
      ))}
    </div>
  );
}

function linesOf(curves: Curves): Line[] {
  const has = (values: readonly (number | null)[]) => values.some((value) => value !== null);
  return [
    { name: "reward", values: curves.rewards, colour: "var(--warn)" },
    ...(has(curves.values) ? [{ name: "value", values: curves.values, colour: "var(--ink)" }] : []),
    ...Object.entries(curves.advantages).map(([name, values]) => ({
      name: `advantage · ${name}`,
      values,
      colour: "var(--accent)",
    })),
    ...Object.entries(curves.scores).map(([name, values]) => ({ name, values, colour: "var(--good)" })),
  ];
}

function Row({
  line,
  count,
  stop,
  onStop,
}: {
  line: Line;
  count: number;
  stop: number;
  onStop: (stop: number) => void;
}) {
  const [box, ref] = useBox({ width: 600, height: HEIGHT });
  const range = useMemo(() => extent([line.values]) ?? ([0, 1] as const), [line.values]);
  const { line: path, dots } = useMemo(
    () => pathOf(line.values, { width: box.width, height: HEIGHT }, range),
    [line.values, box.width, range],
  );
  const here = stop < count ? (line.values[stop] ?? null) : null;
  const x = count < 2 ? box.width / 2 : (Math.min(stop, count - 1) / (count - 1)) * box.width;
  const zero = range[0] < 0 && range[1] > 0 ? HEIGHT * (range[1] / (range[1] - range[0])) : null;
  return (
    <figure className="grid grid-cols-[minmax(0,1fr)_4rem] items-center gap-x-3" data-testid={`curve ${line.name}`}>
      <figcaption className="col-span-2 truncate text-xs text-muted" title={line.name}>
        {line.name} <span className="text-faint">{`${figure(range[0])} to ${figure(range[1])}`}</span>
      </figcaption>
      <div ref={ref} className="min-w-0">
        <svg
          width={box.width}
          height={HEIGHT}
          className="block cursor-pointer overflow-visible"
          role="img"
          aria-label={`${line.name} of every step`}
          onClick={(event) => {
            const left = event.currentTarget.getBoundingClientRect().left;
            onStop(stepAt(event.clientX - left, box.width, count));
          }}
        >
          <rect width={box.width} height={HEIGHT} fill="var(--raised)" rx="3" />
          {zero === null ? null : (
            <path d={`M0 ${zero}H${box.width}`} stroke="var(--line)" strokeDasharray="2 3" />
          )}
          <path
            d={path}
            fill="none"
            stroke={line.colour}
            strokeWidth="1.5"
            strokeLinecap="round"
            strokeLinejoin="round"
          />
          <path d={dots} fill="none" stroke={line.colour} strokeWidth="5" strokeLinecap="round" />
          {stop < count ? <path d={`M${x} 0V${HEIGHT}`} stroke="var(--accent)" strokeWidth="1" /> : null}
        </svg>
      </div>
      <span className="text-right font-semibold">{figure(here)}</span>
    </figure>
  );
}
