/** From a run's metric events to the points its curves are drawn through. Pure. */

import type { Event } from "../api/words";

/** One iteration: every number its events brought, under the name they brought it. */
export interface CurvePoint {
  iteration: number;
  [name: string]: number;
}

/** Iterations in order. Several events of one iteration add up; a repeated one (after a restart) replaces. */
export function pointsOf(events: readonly Event[]): CurvePoint[] {
  const points = new Map<number, CurvePoint>();
  for (const event of events) {
    if (event.kind !== "metric") continue;
    const { iteration } = event.data;
    if (typeof iteration !== "number" || !Number.isFinite(iteration)) continue;
    const point = points.get(iteration) ?? { iteration };
    for (const [name, value] of Object.entries(event.data)) {
      if (typeof value === "number" && Number.isFinite(value)) point[name] = value;
    }
    points.set(iteration, point);
  }
  return [...points.values()].sort((a, b) => a.iteration - b.iteration);
}

/** Whether any point has any of these names. */
export function has(points: readonly CurvePoint[], names: readonly string[]): boolean {
  return points.some((point) => names.some((name) => name in point));
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
}

export interface Chart {
  title: string;
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
    {
      name: "success_sampled",
      label: "sampled",
      colour: "var(--accent)",
      band: ["success_sampled_low", "success_sampled_high"],
    },
    {
      name: "success_greedy",
      label: "greedy",
      colour: "var(--good)",
      band: ["success_greedy_low", "success_greedy_high"],
      dots: true,
    },
  ],
};

export const DIAGNOSTICS: readonly Chart[] = [
  line("KL per turn", "kl_per_turn", "figure", [0, null], 0.15),
  line("Clip fraction", "clip_fraction", "share", [0, null], 0.3),
  line("Explained variance", "explained_variance", "figure", [null, 1]),
  line("Entropy", "entropy", "figure", [0, null]),
];

function line(title: string, name: string, kind: Chart["kind"], domain: Chart["domain"], limit?: number): Chart {
  const only: Line = { name, label: title.toLowerCase(), colour: "var(--accent)" };
  return { title, kind, domain, lines: [only], ...(limit === undefined ? {} : { limit }) };
}

// ---- alarms ---------------------------------------------------------------------------------------------

export interface Alarm {
  id: number;
  atS: number;
  name: string;
  text: string;
}

/** Alarms, newest first; the text is the event's own where it has one, else its figures. */
export function alarmsOf(events: readonly Event[]): Alarm[] {
  return events
    .filter((event) => event.kind === "alarm")
    .map((event) => ({ id: event.id, atS: event.at_s, name: event.name.replaceAll("_", " "), text: alarmText(event) }))
    .reverse();
}

function alarmText(event: Event): string {
  const { message } = event.data;
  if (typeof message === "string") return message;
  return Object.entries(event.data)
    .filter(([, value]) => ["number", "string", "boolean"].includes(typeof value))
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${String(value)}`)
    .join(", ");
}
