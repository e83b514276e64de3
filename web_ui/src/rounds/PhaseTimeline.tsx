/** A round's phases from top to bottom: which are over, which is under way and how far, which are to come. */

import { over } from "../api/queries";
import type { Phase } from "../api/words";
import { figure } from "../format/numbers";
import { Lasted } from "../parts/Ago";
import { Told } from "../parts/PolicyName";
import { StateMark } from "../parts/StateMark";

export function PhaseTimeline({
  phases,
  chosen,
  onChoose,
}: {
  phases: readonly Phase[];
  chosen: string | null;
  onChoose: (name: string) => void;
}) {
  return (
    <ol aria-label="Phases" className="flex flex-col py-1">
      {phases.map((phase) => (
        <li key={phase.name}>
          <button
            type="button"
            aria-pressed={phase.name === chosen}
            onClick={() => onChoose(phase.name)}
            className="grid w-full grid-cols-[1.25rem_minmax(0,1fr)_auto] items-baseline gap-x-2 border-l-2 border-transparent px-3 py-1.5 text-left hover:bg-raised aria-pressed:border-accent aria-pressed:bg-raised"
          >
            <StateMark state={phase.state} bare />
            <span
              className={`truncate font-medium ${phase.state === "queued" || phase.state === "skipped" ? "text-muted" : ""}`}
            >
              {phase.name}
            </span>
            <span className="text-xs text-muted">
              {phase.started_at_s === null ? null : (
                <Lasted startS={phase.started_at_s} endS={phase.ended_at_s} />
              )}
            </span>
            {phase.state === "running" ? <Progress phase={phase} /> : null}
            {phase.reason && phase.state !== "running" ? (
              <span
                className={`col-start-2 col-end-4 text-xs break-words ${phase.state === "failed" ? "text-bad" : "text-muted"}`}
              >
                <Told text={phase.reason} />
              </span>
            ) : null}
          </button>
        </li>
      ))}
    </ol>
  );
}

function Progress({ phase }: { phase: Phase }) {
  const { progress } = phase;
  const known = progress !== null && progress.total > 0;
  const share = known ? Math.min(progress.done / progress.total, 1) : 0;
  return (
    <span className="col-start-2 col-end-4 flex flex-col gap-1 pt-0.5 pb-1">
      <span className="flex justify-between gap-3 text-xs text-muted">
        <span className="truncate">{progress?.phase ?? "starting"}</span>
        {known ? (
          <span className="whitespace-nowrap">
            {progress.done} of {progress.total}
          </span>
        ) : null}
      </span>
      <span
        role="progressbar"
        aria-label={`${phase.name} progress`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={known ? Math.round(share * 100) : undefined}
        className="block h-1 overflow-hidden rounded-full bg-line"
      >
        <span
          className={`block h-full bg-accent ${known ? "" : "pulse w-full"}`}
          style={known ? { width: `${share * 100}%` } : {}}
        />
      </span>
    </span>
  );
}

/** Longer values get a line of their own. */
const LONG = 32;

/** Everything a phase reported, by name. */
export function PhaseFigures({ phase }: { phase: Phase }) {
  const figures = Object.entries(phase.metrics);
  const rows: [string, string][] = [
    ...(phase.policy_out ? [["policy made", phase.policy_out] as [string, string]] : []),
    ...figures.map(([name, value]) => [name.replaceAll("_", " "), shown(value)] as [string, string]),
  ];
  if (rows.length === 0) {
    return (
      <p className="px-3 py-6 text-center text-muted">
        {phase.state === "queued"
          ? "This phase has not begun."
          : over(phase.state)
            ? "This phase reported no figures."
            : "No figures yet."}
      </p>
    );
  }
  return (
    <dl className="grid gap-x-6 p-3 sm:grid-cols-2 xl:grid-cols-3">
      {rows.map(([name, value]) => (
        <div
          key={name}
          className={`flex items-baseline gap-3 border-b border-line/60 py-1 ${value.length > LONG ? "col-span-full" : "justify-between"}`}
        >
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">
            <Told text={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function shown(value: unknown): string {
  if (typeof value === "number") return figure(value);
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? "–" : JSON.stringify(value);
}
