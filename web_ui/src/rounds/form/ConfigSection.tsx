/** One phase of a round in the form: taken or left out, the settings its preset makes, and all others on demand. */

import { useState } from "react";

import { Coded } from "../../parts/Coded";
import { ConfigField } from "./ConfigField";
import { at, shown, takesPlace, type Config, type Edits, type Field, type Section } from "./fields";

export function ConfigSection({
  section,
  config,
  edits,
  errors,
  search,
  onEdit,
}: {
  section: Section;
  config: Config;
  edits: Edits;
  errors: Readonly<Record<string, string>>;
  /** Lower case; empty shows all. */
  search: string;
  /** Undefined sets the path back. */
  onEdit: (path: string, typed: string | undefined) => void;
}) {
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState(section.name === "round");
  const found = section.fields.filter((field) => matches(field, search));
  const told = section.fields.filter((field) => isTold(field, config, edits, errors));
  const drawn = search !== "" ? found : all ? section.fields : told;
  const changes = Object.keys(edits).filter((path) => path.startsWith(`${section.name}.`)).length;
  const wrong = section.fields.some((field) => field.path in errors);
  const taken = takesPlace(section, config, edits);
  if (search !== "" && found.length === 0) return null;
  return (
    <details
      className="group panel"
      open={open || wrong || search !== ""}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="flex min-h-10 cursor-pointer flex-wrap items-center gap-x-3 px-3 py-2">
        <span aria-hidden className="text-muted transition-transform group-open:rotate-90">
          ›
        </span>
        <span className="font-semibold">{section.name}</span>
        <span className="text-xs text-muted">
          {taken ? `${told.length} set${changes === 0 ? "" : `, ${changes} changed`}` : "left out"}
        </span>
        {wrong ? <span className="text-xs text-bad">to be put right</span> : null}
      </summary>
      <div className="flex flex-col gap-3 border-t border-line p-3">
        {section.help === "" ? null : <p className="text-muted"><Coded text={section.help} /></p>}
        {section.phase ? (
          <label className="flex items-center gap-2">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={taken}
              onChange={(event) => onEdit(section.name, event.target.checked ? "in" : "out")}
            />
            Do {section.name}
          </label>
        ) : null}
        {taken ? (
          <>
            <div className="grid gap-x-4 gap-y-3 sm:grid-cols-2 xl:grid-cols-3">
              {drawn.map((field) => (
                <ConfigField
                  key={field.path}
                  field={field}
                  value={edits[field.path] ?? shown(field, config)}
                  changed={field.path in edits}
                  error={errors[field.path]}
                  onChange={(typed) => onEdit(field.path, typed)}
                  onReset={() => onEdit(field.path, undefined)}
                />
              ))}
            </div>
            {search === "" && (all || told.length < section.fields.length) ? (
              <button type="button" className="button self-start" onClick={() => setAll(!all)}>
                {all ? "Only what is set" : `All ${section.fields.length} settings of ${section.name}`}
              </button>
            ) : null}
          </>
        ) : null}
      </div>
    </details>
  );
}

function matches(field: Field, search: string): boolean {
  return search === "" || `${field.path} ${field.label} ${field.help}`.toLowerCase().includes(search);
}

/** The config says something of it, or somebody has touched it. */
function isTold(
  field: Field,
  config: Config,
  edits: Edits,
  errors: Readonly<Record<string, string>>,
): boolean {
  return field.path in edits || field.path in errors || at(config, field.path) !== undefined;
}
