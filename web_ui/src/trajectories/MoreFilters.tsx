/** Filters that are needed now and then: what broke, score, turns, days. */

import { useId, type ReactNode } from "react";

import type { TrajectoryFilter } from "../api/queries";
import type { Failure } from "../api/words";
import { FAILURES } from "./filter";
import { useDraft } from "./useDraft";

export const MORE = [
  "failure",
  "min_score",
  "max_score",
  "min_turns",
  "max_turns",
  "since",
  "until",
] as const satisfies readonly (keyof TrajectoryFilter)[];

export function MoreFilters({
  filter,
  onChange,
}: {
  filter: TrajectoryFilter;
  onChange: (part: TrajectoryFilter) => void;
}) {
  return (
    <div className="col-span-2 flex basis-full flex-wrap items-end gap-2">
      <Labelled label="Broken by" whole>
        {(id) => (
          <select
            id={id}
            className="field sm:w-44"
            value={filter.failure ?? ""}
            onChange={({ target: { value } }) =>
              onChange({ failure: value === "" ? undefined : (value as Failure) })
            }
          >
            <option value="">Anything or nothing</option>
            {FAILURES.map((failure) => (
              <option key={failure} value={failure}>
                {failure.replace("_", " ")}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      <Bound label="Score from" value={filter.min_score} step="any" onChange={(min_score) => onChange({ min_score })} />
      <Bound label="Score to" value={filter.max_score} step="any" onChange={(max_score) => onChange({ max_score })} />
      <Bound label="Turns from" value={filter.min_turns} step={1} onChange={(min_turns) => onChange({ min_turns })} />
      <Bound label="Turns to" value={filter.max_turns} step={1} onChange={(max_turns) => onChange({ max_turns })} />
      <Day label="Begun from" value={filter.since} onChange={(since) => onChange({ since })} />
      <Day label="Begun until" value={filter.until} onChange={(until) => onChange({ until })} />
    </div>
  );
}

/** A number; it filters on Enter and when the field is left, and not at all while it makes no sense. */
function Bound({
  label,
  value,
  step,
  onChange,
}: {
  label: string;
  value: number | undefined;
  step: number | "any";
  onChange: (value: number | undefined) => void;
}) {
  const [draft, setDraft] = useDraft(value === undefined ? "" : String(value));
  const settle = (input: HTMLInputElement) => {
    if (!input.validity.valid) return;
    const told = input.value === "" ? undefined : input.valueAsNumber;
    if (told !== value) onChange(told);
  };
  return (
    <Labelled label={label}>
      {(id) => (
        <input
          id={id}
          type="number"
          className="field invalid:border-bad sm:w-24"
          placeholder="Any"
          step={step}
          min={step === 1 ? 0 : undefined}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onBlur={(event) => settle(event.target)}
          onKeyDown={(event) => {
            if (event.key === "Enter") settle(event.currentTarget);
          }}
        />
      )}
    </Labelled>
  );
}

function Day({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <Labelled label={label}>
      {(id) => (
        <input
          id={id}
          type="date"
          className="field sm:w-36"
          value={value ?? ""}
          onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
        />
      )}
    </Labelled>
  );
}

function Labelled({
  label,
  whole = false,
  children,
}: {
  label: string;
  /** Has a row of its own on phones: what comes after it goes in pairs. */
  whole?: boolean;
  children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className={`grid gap-0.5 ${whole ? "max-sm:w-full" : "max-sm:w-[calc(50%-0.25rem)]"}`}>
      <label htmlFor={id} className="label">
        {label}
      </label>
      {children(id)}
    </div>
  );
}
