/** One setting of a round: its widget by its type, its help, what is wrong with it, and the way back. */

import { useId } from "react";

import { Coded } from "../../parts/Coded";
import type { Field } from "./fields";

export function ConfigField({
  field,
  value,
  changed,
  error,
  onChange,
  onReset,
}: {
  field: Field;
  value: string;
  changed: boolean;
  error: string | undefined;
  onChange: (typed: string) => void;
  onReset: () => void;
}) {
  const id = useId();
  const told = { id, "aria-invalid": error !== undefined, "aria-describedby": `${id}-help ${id}-error` };
  const wide = field.kind === "list" || field.kind === "json";
  return (
    <div data-field={field.path} className={`flex min-w-0 flex-col gap-1 ${wide ? "sm:col-span-2" : ""}`}>
      <div className="flex items-baseline justify-between gap-2">
        <label htmlFor={id} className={`label ${changed ? "text-accent" : ""}`}>
          {field.label}
          {changed ? <span className="sr-only"> (changed)</span> : null}
        </label>
        {changed ? (
          <button
            type="button"
            className="link text-xs"
            onClick={onReset}
            aria-label={`Set ${field.label} back`}
          >
            Set back
          </button>
        ) : null}
      </div>
      {field.kind === "flag" ? (
        <select {...told} className="field" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      ) : field.kind === "choice" ? (
        <select {...told} className="field" value={value} onChange={(event) => onChange(event.target.value)}>
          {field.optional ? <option value="">as it was</option> : null}
          {field.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : field.kind === "list" ? (
        <textarea
          {...told}
          className="field h-auto py-1.5 font-mono text-xs"
          rows={Math.min(Math.max(value.split("\n").length, 1), 8)}
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <input
          {...told}
          className={`field ${field.kind === "json" ? "font-mono text-xs" : ""}`}
          inputMode={field.kind === "whole" ? "numeric" : field.kind === "number" ? "decimal" : "text"}
          spellCheck={false}
          autoComplete="off"
          placeholder={field.optional ? "not set" : undefined}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {error === undefined ? null : (
        <p id={`${id}-error`} role="alert" className="text-xs text-bad">
          {error}
        </p>
      )}
      <p id={`${id}-help`} className="text-xs text-muted">
        {field.kind === "list" ? "One in each line. " : ""}
        <Coded text={field.help} />
      </p>
    </div>
  );
}
