/** From a run's metric events to the points its curves are drawn through. Pure. */

import { textOf, titleOf } from "../alarms/words";
import type { Event } from "../api/words";

/** Events that are drawn: the online loop's own figures, and success on validation seeds now and then. */
const DRAWN = new Set(["ppo/iteration", "ppo/validation"]);

/** One iteration: every number its events brought, as "validation/success_greedy". */
export interface CurvePoint {
  iteration: number;
  [name: string]: number;
}

/** Iterations in order. One told again (after a restart) replaces what it said before. */
export function pointsOf(events: readonly Event[]): CurvePoint[] {
  const points = new Map<number, CurvePoint>();
  for (const event of events) {
    const { step: iteration } = event.data;
    if (event.kind !== "metric" || !DRAWN.has(event.name) || typeof iteration !== "number") continue;
    const point = points.get(iteration) ?? { iteration };
    const source = event.name.slice("ppo/".length);
    for (const [name, value] of Object.entries(event.data)) {
      if (typeof value === "number" && name !== "step") point[`${source}/${name}`] = value;
    }
    const { turns, seconds } = event.data;
    if (source === "iteration" && typeof turns === "number" && typeof seconds === "number" && seconds > 0) {
      point["iteration/turns_per_s"] = turns / seconds;
    }
    points.set(iteration, point);
  }
  return [...points.values()].sort((a, b) => a.iteration - b.iteration);
}

/** Whether any point has any of these names. */
export function has(points: readonly CurvePoint[], names: readonly string[]): boolean {
  return points.some((point) => names.some((name) => name in point));
}

/** A line through one point is none: such a point is drawn as a dot. */
export function alone(points: readonly CurvePoint[], name: string): boolean {
  return points.filter((point) => name in point).length === 1;
}

/** What the vertical axis has to hold: the data, their intervals, the limit, and the chart's own ends. */
export function reach(chart: Chart, points: readonly CurvePoint[]): [low: number, high: number] {
  const names = chart.lines.flatMap((line) => [line.name, ...(line.band ?? [])]);
  const values = points.flatMap((point) => names.flatMap((name) => point[name] ?? []));
  if (chart.limit !== undefined) values.push(chart.limit);
  const [low, high] = chart.domain;
  return [low ?? Math.min(0, ...values), high ?? Math.max(0, ...values)];
}

/** The last value under a name; undefined when there is none. */
export function last(points: readonly CurvePoint[], name: string): number | undefined {
  return points.findLast((point) => name in point)?.[name];
}

export interface Line {
  /** Name under which the events bring it. */
  name: string;
  label: string;
  colour: string;
  /** Names of the interval's ends. */
  band?: readonly [low: string, high: string];
  /** Marked with a dot at each point: measured now and then, not at every iteration. */
  dots?: boolean;
  thin?: boolean;
}

export interface Chart {
  title: string;
  /** Where the title does not say it. */
  unit?: string;
  lines: readonly Line[];
  /** Drawn across: beyond it somebody should look. */
  limit?: number;
  kind: "share" | "figure";
  /** Ends of the axis; by the data where null. */
  domain: readonly [low: number | null, high: number | null];
}

export const SUCCESS: Chart = {
  title: "Success",
  kind: "share",
  domain: [0, 1],
  lines: [
    { name: "iteration/success_sampled", label: "rollouts", colour: "var(--muted)", thin: true },
    validation("sampled", "var(--accent)"),
    validation("greedy", "var(--good)"),
  ],
};

function validation(mode: string, colour: string): Line {
  const name = `validation/success_${mode}`;
  return { name, label: mode, colour, band: [`${name}_low`, `${name}_high`], dots: true };
}

export const DIAGNOSTICS: readonly Chart[] = [
  line("KL per turn", "kl_per_turn", "figure", [0, null], { limit: 0.15, unit: "nats" }),
  line("KL to the reference", "kl_reference", "figure", [0, null], { unit: "nats" }),
  line("Clip fraction", "clip_fraction", "share", [0, null], { limit: 0.3 }),
  line("Explained variance", "explained_variance", "figure", [null, 1]),
  line("Entropy", "entropy", "figure", [0, null], { unit: "nats" }),
  {
    title: "Staleness",
    unit: "updates",
    kind: "figure",
    domain: [0, null],
    lines: [
      { name: "iteration/staleness_mean", label: "mean", colour: "var(--accent)" },
      { name: "iteration/staleness_max", label: "most", colour: "var(--muted)", thin: true },
    ],
  },
  line("Turns per second", "turns_per_s", "figure", [0, null]),
  {
    title: "Time",
    kind: "share",
    domain: [0, 1],
    lines: [
      { name: "iteration/time_environment", label: "environment", colour: "var(--good)" },
      { name: "iteration/time_inference", label: "inference", colour: "var(--accent)" },
      { name: "iteration/time_training", label: "training", colour: "var(--warn)" },
    ],
  },
];

const PARTS = ["var(--accent)", "var(--good)", "var(--warn)", "var(--bad)", "var(--muted)"];
const REWARD = "iteration/reward_";

/** What rewards were made of, as far as the points tell of it. */
export function rewardParts(points: readonly CurvePoint[]): Chart {
  const names = new Set(
    points.flatMap((point) => Object.keys(point).filter((name) => name.startsWith(REWARD))),
  );
  const lines = [...names].sort().map((name, index) => ({
    name,
    label: name.slice(REWARD.length).replaceAll("_", " "),
    colour: PARTS[index % PARTS.length] ?? "var(--ink)",
  }));
  return { title: "Reward parts", kind: "figure", domain: [null, null], lines };
}

function line(
  title: string,
  name: string,
  kind: Chart["kind"],
  domain: Chart["domain"],
  more: Pick<Chart, "limit" | "unit"> = {},
): Chart {
  const only: Line = { name: `iteration/${name}`, label: title.toLowerCase(), colour: "var(--accent)" };
  return { title, kind, domain, lines: [only], ...more };
}

// ---- alarms ---------------------------------------------------------------------------------------------

export interface Alarm {
  id: number;
  atS: number;
  name: string;
  text: string;
}

/** What was seen of an alarm, and that it is over, come as alarms of its name too. */
const TOLD_AFTER = new Set<unknown>(["acknowledged", "cleared"]);

/** Alarms, newest first. */
export function alarmsOf(events: readonly Event[]): Alarm[] {
  return events
    .filter((event) => event.kind === "alarm" && !TOLD_AFTER.has(event.data.state))
    .map((event) => ({
      id: event.id,
      atS: event.at_s,
      name: titleOf(event),
      text: alarmText(event),
    }))
    .reverse();
}

/** "iteration 12: 0.42, limit 0.3; steps are too large", as far as the event tells. */
function alarmText(event: Event): string {
  const { iteration, ...data } = event.data;
  const told = textOf({ data: { ...data, state: null } });
  return typeof iteration === "number" ? `iteration ${iteration}: ${told}` : told;
}
