/** One chart over the iterations of a run. Loaded only where curves are shown. */

import {
  Area,
  CartesianGrid,
  ComposedChart,
  Line as RechartsLine,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";

import { figure, mark, percent } from "../format/numbers";
import { axisOf } from "./axis";
import { alone, last, reach, type Chart, type CurvePoint, type Line } from "./curves";

const AXIS = {
  stroke: "var(--line)",
  tick: { fill: "var(--muted)", fontSize: 11 },
  tickLine: false,
} as const;

export function Curve({
  chart,
  points,
  height,
}: {
  chart: Chart;
  points: readonly CurvePoint[];
  height: number;
}) {
  const show = (value: number) => (chart.kind === "share" ? percent(value) : figure(value));
  const tick = (value: number) => (chart.kind === "share" ? percent(value, 0) : mark(value));
  const fixed = { low: chart.domain[0] !== null, high: chart.domain[1] !== null };
  const axis = axisOf(...reach(chart, points), fixed, chart.kind === "share" && fixed.high ? 5 : 3);
  return (
    <figure className="flex min-w-0 flex-col gap-1 p-3" data-testid={`curve ${chart.title}`}>
      <figcaption className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="label">
          {chart.title}
          {chart.unit ? <span className="font-normal">, {chart.unit}</span> : null}
        </span>
        <span className="flex flex-wrap gap-x-3">
          {chart.lines.map((line) => (
            <Latest
              key={line.name}
              line={line}
              value={last(points, line.name)}
              alone={chart.lines.length === 1}
              show={show}
            />
          ))}
        </span>
      </figcaption>
      <div className="mt-auto" style={{ height }}>
        <ResponsiveContainer width="100%" height="100%">
          <ComposedChart
            data={[...points]}
            margin={{ top: 6, right: 6, bottom: 0, left: 0 }}
            syncId="iterations"
            accessibilityLayer={false}
          >
            <CartesianGrid stroke="var(--line)" strokeDasharray="2 4" vertical={false} />
            <XAxis
              dataKey="iteration"
              type="number"
              domain={["dataMin", "dataMax"]}
              allowDecimals={false}
              minTickGap={32}
              height={22}
              {...AXIS}
            />
            <YAxis
              width={44}
              axisLine={false}
              domain={axis.domain}
              ticks={axis.ticks}
              interval={0}
              tickFormatter={tick}
              {...AXIS}
            />
            {chart.limit === undefined ? null : (
              <ReferenceLine y={chart.limit} stroke="var(--warn)" strokeDasharray="4 3" />
            )}
            <Tooltip
              isAnimationActive={false}
              cursor={{ stroke: "var(--faint)" }}
              content={({ active, payload }) => {
                const point = (payload[0]?.payload ?? null) as CurvePoint | null;
                return active && point ? <Reading chart={chart} point={point} show={show} /> : null;
              }}
            />
            {chart.lines.map((line) => (
              <Band key={line.name} line={line} />
            ))}
            {chart.lines.map((line) => (
              <RechartsLine
                key={line.name}
                dataKey={line.name}
                stroke={line.colour}
                strokeWidth={line.thin ? 1 : 1.75}
                dot={
                  line.dots || alone(points, line.name)
                    ? { r: 2.5, fill: line.colour, strokeWidth: 0 }
                    : false
                }
                activeDot={{ r: 3.5, strokeWidth: 0, fill: line.colour }}
                connectNulls
                isAnimationActive={false}
              />
            ))}
          </ComposedChart>
        </ResponsiveContainer>
      </div>
    </figure>
  );
}

function Band({ line }: { line: Line }) {
  if (!line.band) return null;
  const [low, high] = line.band;
  return (
    <Area
      dataKey={(point: CurvePoint) => (low in point && high in point ? [point[low], point[high]] : null)}
      stroke="none"
      fill={line.colour}
      fillOpacity={0.14}
      connectNulls
      activeDot={false}
      isAnimationActive={false}
    />
  );
}

function Latest({
  line,
  value,
  alone,
  show,
}: {
  line: Line;
  value: number | undefined;
  alone: boolean;
  show: (value: number) => string;
}) {
  return (
    <span className="flex items-baseline gap-1.5">
      {alone ? null : (
        <>
          <span aria-hidden className="size-2 self-center rounded-full" style={{ background: line.colour }} />
          <span className="text-xs text-muted">{line.label}</span>
        </>
      )}
      <span className="font-semibold">{value === undefined ? "–" : show(value)}</span>
    </span>
  );
}

function Reading({
  chart,
  point,
  show,
}: {
  chart: Chart;
  point: CurvePoint;
  show: (value: number) => string;
}) {
  return (
    <div className="panel px-2.5 py-1.5 text-xs shadow-lg shadow-black/10">
      <div className="text-muted">iteration {point.iteration}</div>
      {chart.lines.map((line) => {
        const value = point[line.name];
        if (value === undefined) return null;
        const low = line.band && point[line.band[0]];
        const high = line.band && point[line.band[1]];
        return (
          <div key={line.name} className="flex items-center gap-2">
            <span aria-hidden className="size-2 rounded-full" style={{ background: line.colour }} />
            {line.label}
            <span className="ml-auto font-semibold">{show(value)}</span>
            {low === undefined || high === undefined ? null : (
              <span className="text-muted">
                {show(low)}–{show(high)}
              </span>
            )}
          </div>
        );
      })}
    </div>
  );
}
