/** Curves of several rounds over one another. Pure. */

import type { Event, Round } from "../api/words";
import { pointsOf, type Chart, type CurvePoint, type Line } from "./curves";

const COLOURS = ["var(--accent)", "var(--good)", "var(--warn)", "var(--bad)", "var(--muted)", "var(--ink)"];
/** Rounds in one chart at most: more lines cannot be told apart. */
export const MOST = COLOURS.length;

export interface Measure {
  name: string;
  label: string;
  unit?: string;
  kind: Chart["kind"];
  domain: Chart["domain"];
  /** It comes with an interval. */
  band?: boolean;
}

export const MEASURES: readonly Measure[] = [
  { name: "validation/success_greedy", label: "Success, greedy", kind: "share", domain: [0, 1], band: true },
  {
    name: "validation/success_sampled",
    label: "Success, sampled",
    kind: "share",
    domain: [0, 1],
    band: true,
  },
  { name: "iteration/success_sampled", label: "Success of rollouts", kind: "share", domain: [0, 1] },
  { name: "iteration/entropy", label: "Entropy", unit: "nats", kind: "figure", domain: [0, null] },
  { name: "iteration/kl_per_turn", label: "KL per turn", unit: "nats", kind: "figure", domain: [0, null] },
  { name: "iteration/clip_fraction", label: "Clip fraction", kind: "share", domain: [0, null] },
  { name: "iteration/explained_variance", label: "Explained variance", kind: "figure", domain: [null, 1] },
  { name: "iteration/staleness_mean", label: "Staleness", unit: "updates", kind: "figure", domain: [0, null] },
  { name: "iteration/turns_per_s", label: "Turns per second", kind: "figure", domain: [0, null] },
];

/** The run whose curves a round has; null before it trains. */
export function trainingRun(round: Round): string | null {
  const begun = round.phases.filter((phase) => phase.run_id !== null);
  const [first] = ["ppo", "sft", "pretrain"].flatMap((kind) => begun.filter((phase) => phase.kind === kind));
  return first?.run_id ?? null;
}

export interface Compared {
  chart: Chart;
  points: CurvePoint[];
}

/** One measure of several rounds: a line each, by iteration. */
export function compared(measure: Measure, rounds: readonly Round[], events: readonly Event[]): Compared {
  const points = new Map<number, CurvePoint>();
  const lines: Line[] = rounds.map((round, index) => {
    const own = `round ${round.id}`;
    const band: [string, string] = [`${own} low`, `${own} high`];
    const subject = `run:${trainingRun(round)}`;
    for (const point of pointsOf(events.filter((event) => event.subject === subject))) {
      const merged = points.get(point.iteration) ?? { iteration: point.iteration };
      const ends: [string, string][] = [
        [own, ""],
        ...(measure.band
          ? ([
              [band[0], "_low"],
              [band[1], "_high"],
            ] as [string, string][])
          : []),
      ];
      for (const [name, end] of ends) {
        const value = point[`${measure.name}${end}`];
        if (value !== undefined) merged[name] = value;
      }
      points.set(point.iteration, merged);
    }
    const colour = COLOURS[index % COLOURS.length] ?? "var(--ink)";
    return {
      name: own,
      label: `#${round.id} ${round.preset}`,
      colour,
      ...(measure.band ? { band, dots: true } : {}),
    };
  });
  const { label: title, kind, domain, unit } = measure;
  const drawn = [...points.values()].filter((point) => lines.some((line) => line.name in point));
  return { chart: { title, kind, domain, lines, ...(unit ? { unit } : {}) }, points: drawn.sort((a, b) => a.iteration - b.iteration) };
}

export interface CompareSearch {
  /** Numbers of rounds. */
  ids: number[];
  measure?: string | undefined;
}

/** As it stands in the address. */
export function readCompareRounds(search: Record<string, unknown>): CompareSearch {
  const { ids, measure } = search;
  const named = Array.isArray(ids) ? ids.filter((id): id is number => Number.isSafeInteger(id)) : [];
  const known = MEASURES.find((one) => one.name === measure);
  return { ids: [...new Set(named)].slice(0, MOST), ...(known ? { measure: known.name } : {}) };
}
