/** Which trajectories to show. */

import { useQuery } from "@tanstack/react-query";
import { useId, type ReactNode } from "react";

import { catalogQuery, policiesQuery, type TrajectoryFilter } from "../api/queries";
import { acting, idOf, namesOf } from "../parts/policies";
import { MORE, MoreFilters } from "./MoreFilters";
import { SavedViews } from "./SavedViews";
import { useDraft } from "./useDraft";

const PURPOSES = ["demonstration", "rollout", "evaluation"];

export function FilterBar({
  filter,
  more,
  onMore,
  onChange,
  onChoose,
}: {
  filter: TrajectoryFilter;
  /** Whether those needed now and then are shown. */
  more: boolean;
  onMore: (more: boolean) => void;
  onChange: (part: TrajectoryFilter) => void;
  /** All of them at once. */
  onChoose: (filter: TrajectoryFilter) => void;
}) {
  const catalog = useQuery(catalogQuery);
  const policies = useQuery(policiesQuery);
  const tasks = catalog.data?.map((task) => task.id) ?? [];
  const named = namesOf(policies.data ?? []);
  const names = ["scripted", ...acting(policies.data ?? []).map(({ id }) => named.get(id) ?? id)];
  const policy = filter.policy && (named.get(filter.policy) ?? filter.policy);
  const purposes =
    filter.purpose && !PURPOSES.includes(filter.purpose) ? [...PURPOSES, filter.purpose] : PURPOSES;
  const set = MORE.filter((name) => filter[name] !== undefined).length;
  return (
    <form
      role="search"
      aria-label="Filter trajectories"
      className="grid grid-cols-2 gap-2 sm:flex sm:flex-wrap"
      onSubmit={(event) => event.preventDefault()}
    >
      <Suggesting
        label="Words"
        placeholder="Words of an instruction or thought"
        hint={'Words found together: login "sign in" pass* -admin'}
        className="max-sm:col-span-2 sm:w-72 sm:flex-1"
        value={filter.text}
        options={[]}
        onChange={(text) => onChange({ text })}
      />
      <Suggesting
        label="Task"
        value={filter.task}
        options={tasks}
        onChange={(task) => onChange({ task })}
      />
      <Suggesting
        label="Policy"
        hint="The run that made it, or its id"
        value={policy}
        options={names}
        onChange={(typed) => onChange({ policy: idOf(typed, named) })}
      />
      <Choice
        label="Outcome"
        value={filter.outcome ?? ""}
        onChange={(value) =>
          onChange({ outcome: value === "" ? undefined : (value as TrajectoryFilter["outcome"]) })
        }
      >
        <option value="">Any outcome</option>
        <option value="success">Success</option>
        <option value="failure">Failure</option>
        <option value="none">No verdict</option>
      </Choice>
      <Choice label="Purpose" value={filter.purpose ?? ""} onChange={(purpose) => onChange({ purpose })}>
        <option value="">Any purpose</option>
        {purposes.map((purpose) => (
          <option key={purpose} value={purpose}>
            {purpose}
          </option>
        ))}
      </Choice>
      {filter.round === undefined ? null : (
        <button
          type="button"
          className="button"
          onClick={() => onChange({ round: undefined })}
          aria-label={`Round ${filter.round}: show all rounds`}
        >
          Round {filter.round} <span aria-hidden>✕</span>
        </button>
      )}
      <button type="button" className="button" aria-expanded={more} onClick={() => onMore(!more)}>
        {more ? "Fewer filters" : "More filters"}
        {set > 0 ? ` (${set})` : ""}
      </button>
      <SavedViews filter={filter} onChoose={onChoose} />
      {more ? <MoreFilters filter={filter} onChange={onChange} /> : null}
    </form>
  );
}

/**
 * Free text with suggestions; it filters when an option is taken or the text cleared by the mouse, on Enter, and when
 * the field is left. Not while typing: one id may begin with another.
 */
function Suggesting({
  label,
  placeholder,
  hint,
  className = "sm:w-48",
  value,
  options,
  onChange,
}: {
  label: string;
  placeholder?: string;
  hint?: string;
  className?: string;
  value: string | undefined;
  options: readonly string[];
  onChange: (value: string) => void;
}) {
  const list = useId();
  const [draft, setDraft] = useDraft(value ?? "");
  const settle = (text: string) => {
    if (text.trim() !== (value ?? "")) onChange(text.trim());
  };
  return (
    <div className={`min-w-0 ${className}`}>
      <input
        type="search"
        className="field"
        aria-label={label}
        placeholder={placeholder ?? `Any ${label.toLowerCase()}`}
        title={hint}
        list={list}
        spellCheck={false}
        autoComplete="off"
        value={draft}
        onChange={(event) => {
          setDraft(event.target.value);
          if (chosen(event.nativeEvent)) settle(event.target.value);
        }}
        onBlur={() => settle(draft)}
        onKeyDown={(event) => {
          if (event.key === "Enter") settle(draft);
        }}
      />
      <datalist id={list}>
        {options.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </div>
  );
}

/** An option was taken or the text cleared, as far as browsers tell that from typing. */
function chosen(event: Event): boolean {
  return !(event instanceof InputEvent) || event.inputType === "insertReplacementText";
}

function Choice({
  label,
  value,
  onChange,
  children,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ReactNode;
}) {
  return (
    <select
      aria-label={label}
      className="field sm:w-40"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {children}
    </select>
  );
}
