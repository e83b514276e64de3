/** A round's config as fields of a form: made from its JSON schema, read back as overrides. Pure. */

export interface Schema {
  type?: string | readonly string[];
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  prefixItems?: readonly Schema[];
  anyOf?: readonly Schema[];
  properties?: Record<string, Schema>;
}

export type Kind = "flag" | "choice" | "whole" | "number" | "text" | "list" | "json";

export interface Field {
  /** Dotted, as the server names it: "ppo.value_pretraining.lr". */
  path: string;
  /** The path without its section. */
  label: string;
  help: string;
  kind: Kind;
  choices: readonly string[];
  /** Empty means null. */
  optional: boolean;
  /** What holds where nothing is said. */
  preset: unknown;
  low: number | undefined;
  high: number | undefined;
}

export interface Section {
  name: string;
  help: string;
  /** It can be left out as a whole: it is a phase. */
  phase: boolean;
  fields: readonly Field[];
}

export type Config = Record<string, unknown>;
/** What was typed, by path; a section left out or taken in stands under its own name. */
export type Edits = Readonly<Record<string, string>>;

/** Name of the section of what belongs to no phase. */
export const GENERAL = "round";

/** Sections of a schema: what belongs to no phase first, then the phases in their order. */
export function sectionsOf(schema: Schema): Section[] {
  const plain: Field[] = [];
  const sections: Section[] = [];
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    if (part.properties === undefined) plain.push(fieldOf(name, name, part));
    else {
      const phase = Array.isArray(part.type) && part.type.includes("null");
      sections.push({ name, help: part.description ?? "", phase, fields: fieldsIn(name, "", part) });
    }
  }
  return [{ name: GENERAL, help: "", phase: false, fields: plain }, ...sections];
}

function fieldsIn(path: string, label: string, part: Schema): Field[] {
  return Object.entries(part.properties ?? {}).flatMap(([name, inner]) =>
    inner.properties === undefined
      ? [fieldOf(`${path}.${name}`, `${label}${name}`, inner)]
      : fieldsIn(`${path}.${name}`, `${label}${name}.`, inner),
  );
}

function fieldOf(path: string, label: string, part: Schema): Field {
  const options = part.anyOf ?? [part];
  const told = options.filter((option) => option.type !== "null");
  const only = told.length === 1 ? (told[0] ?? part) : part;
  return {
    path,
    label: label.replaceAll("_", " "),
    help: part.description ?? "",
    kind: kindOf(only),
    choices: (only.enum ?? []).map(String),
    optional: told.length < options.length,
    preset: part.default ?? null,
    low: only.minimum,
    high: only.maximum,
  };
}

function kindOf(part: Schema): Kind {
  if (part.enum !== undefined) return "choice";
  if (part.type === "boolean") return "flag";
  if (part.type === "integer") return "whole";
  if (part.type === "number") return "number";
  if (part.type === "string") return "text";
  const listed = part.type === "array" && part.prefixItems === undefined && part.items?.type === "string";
  return listed ? "list" : "json";
}

/** What a config says at a path; undefined where it says nothing. */
export function at(config: Config, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (part, name) => (typeof part === "object" && part !== null ? (part as Config)[name] : undefined),
      config,
    );
}

/** What a field shows before anybody types: what the config says, else what holds by itself. */
export function shown(field: Field, config: Config): string {
  const value = at(config, field.path);
  return written(field, value === undefined ? field.preset : value);
}

function written(field: Field, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (field.kind === "list" && Array.isArray(value)) return value.join("\n");
  return typeof value === "string" && field.kind !== "json" ? value : JSON.stringify(value);
}

export type Reading = { value: unknown } | { error: string };

/** The value of what was typed, or why it is none, with an example. */
export function read(field: Field, typed: string): Reading {
  const text = typed.trim();
  if (text === "" && field.optional) return { value: null };
  switch (field.kind) {
    case "flag":
      return { value: text === "true" };
    case "text":
      return { value: typed };
    case "choice":
      return { value: text };
    case "list":
      return {
        value:
          text === ""
            ? []
            : text
                .split(/[\n,]/)
                .map((one) => one.trim())
                .filter((one) => one !== ""),
      };
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { error: `Not JSON, such as ${written(field, field.preset) || "[0.05, 0.95]"}.` };
      }
    default:
      return number(field, text);
  }
}

function number(field: Field, text: string): Reading {
  const value = Number(text);
  const example = written(field, field.preset) || String(field.low ?? 1);
  const whole = field.kind === "whole";
  if (text === "" || !Number.isFinite(value) || (whole && !Number.isInteger(value))) {
    return { error: `A ${whole ? "whole " : ""}number, such as ${example}.` };
  }
  if (field.low !== undefined && value < field.low)
    return { error: `At least ${field.low}, such as ${example}.` };
  if (field.high !== undefined && value > field.high)
    return { error: `At most ${field.high}, such as ${example}.` };
  return { value };
}

export interface Draft {
  overrides: Config;
  /** By path. */
  errors: Record<string, string>;
  /** How many edits they are. */
  changes: number;
}

/**
 * What the edits come to: overrides for the server, and what is wrong with them as far as is known here. Those in
 * a phase that does not take place wait until it does.
 */
export function draftOf(sections: readonly Section[], config: Config, edits: Edits): Draft {
  const draft: Draft = { overrides: {}, errors: {}, changes: 0 };
  for (const section of sections) {
    const switched = edits[section.name];
    if (switched !== undefined) {
      draft.overrides[section.name] = switched === "in" ? {} : null;
      draft.changes += 1;
    }
    if (!takesPlace(section, config, edits)) continue;
    for (const field of section.fields) {
      const typed = edits[field.path];
      if (typed === undefined) continue;
      draft.changes += 1;
      const found = read(field, typed);
      const gone = "error" in found ? undefined : leftOut(at(config, field.path), found.value);
      if ("error" in found) draft.errors[field.path] = found.error;
      else if (gone !== undefined)
        draft.errors[field.path] =
          `What is left out stays as it was, and "${gone}" is: ` +
          (gone.includes(".") ? "write what is to hold." : "give it null to go without it.");
      else put(draft.overrides, field.path.split("."), found.value);
    }
  }
  return draft;
}

/** A name that an object had and another lacks: the server lays the one on the other, name by name. */
function leftOut(before: unknown, now: unknown): string | undefined {
  if (!isObject(before) || !isObject(now)) return undefined;
  for (const [name, value] of Object.entries(before)) {
    if (!(name in now)) return name;
    const inner = leftOut(value, now[name]);
    if (inner !== undefined) return `${name}.${inner}`;
  }
  return undefined;
}

function isObject(value: unknown): value is Config {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function put(config: Config, path: readonly string[], value: unknown): void {
  const [name, ...rest] = path;
  if (name === undefined) return;
  if (rest.length === 0) config[name] = value;
  else {
    const inner = (config[name] ?? {}) as Config;
    config[name] = inner;
    put(inner, rest, value);
  }
}

/** Whether a phase takes place, by the config and what was switched since. */
export function takesPlace(section: Section, config: Config, edits: Edits): boolean {
  if (!section.phase) return true;
  const switched = edits[section.name];
  if (switched !== undefined) return switched === "in";
  const said = config[section.name];
  return said !== null && said !== undefined;
}

/** The field that a server's complaint is about: "ppo.tasks[0]" is one about "ppo.tasks". */
export function blamed(sections: readonly Section[], said: string | null): string | null {
  if (said === null) return null;
  const path = said.replace(/\[\d+\]/g, "").replace(/^body\.|^overrides\./, "");
  const known = sections.flatMap((section) => section.fields.map((field) => field.path));
  return known.includes(path) ? path : null;
}
