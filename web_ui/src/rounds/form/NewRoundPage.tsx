/** Starts a round: from a preset, or as another round was, with whatever is to be different. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useBlocker } from "@tanstack/react-router";
import { useRef, useState } from "react";

import { answer, api, ApiError } from "../../api/client";
import { roundFormQuery, roundQuery } from "../../api/queries";
import type { Preset, RoundForm } from "../../api/words";
import { counted } from "../../format/numbers";
import { Confirm } from "../../parts/Dialog";
import { Empty, Failed, Loading, Trouble } from "../../parts/Notice";
import { Page, Panel } from "../../parts/Page";
import { ConfigSection } from "./ConfigSection";
import { blamed, draftOf, sectionsOf, type Config, type Edits } from "./fields";

const route = getRouteApi("/rounds/new");

/** A round that is to be like another. */
interface Original {
  id: number;
  config: Config;
}

export function NewRoundPage() {
  const { from } = route.useSearch();
  const form = useQuery(roundFormQuery);
  const round = useQuery({ ...roundQuery(from ?? 0), enabled: from !== undefined, refetchInterval: false });
  const original = from === undefined ? null : (round.data ?? undefined);
  const failed = form.isError ? form : round.isError ? round : null;
  if (form.data && original !== undefined) {
    if (form.data.presets.length === 0)
      return (
        <Page title="Start a round">
          <Empty title="This platform has no preset" />
        </Page>
      );
    return <RoundForm key={from} form={form.data} original={original} />;
  }
  return (
    <Page title="Start a round">
      <div className="panel">
        {failed ? (
          <Failed error={failed.error} again={() => void failed.refetch()} />
        ) : (
          <Loading rows={8} label="Loading the form" />
        )}
      </div>
    </Page>
  );
}

/** Not by `randomUUID`: browsers lack it on a page that came over http from another computer. */
function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}

function RoundForm({ form, original }: { form: RoundForm; original: Original | null }) {
  const { preset: named } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const [edits, setEdits] = useState<Edits>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [search, setSearch] = useState("");
  // the same sent again after an answer that was lost makes no second clone
  const [key, setKey] = useState(newKey);
  const box = useRef<HTMLFormElement>(null);
  const sections = sectionsOf(form.config_schema);
  const chosen = form.presets.find((preset) => preset.name === named) ?? form.presets[0];
  const config = original?.config ?? chosen?.config ?? {};
  const name = original ? `a clone of round ${original.id}` : (chosen?.name ?? "");
  const start = useMutation({
    mutationFn: (overrides: Config) =>
      original
        ? answer(
            api.POST("/v1/rounds/{id}/clone", {
              params: { path: { id: original.id } },
              body: { overrides, key },
            }),
          )
        : answer(api.POST("/v1/rounds", { body: { preset: chosen?.name ?? "", overrides } })),
    onSuccess: async (round) => {
      await client.invalidateQueries({ queryKey: ["rounds"] });
      await navigate({ to: "/rounds/$id", params: { id: String(round.id) }, ignoreBlocker: true });
    },
    onError: (error) => {
      const path = error instanceof ApiError ? blamed(sections, error.field) : null;
      if (path !== null) blame({ [path]: error.message });
    },
  });
  const blame = (found: Record<string, string>) => {
    setErrors(found);
    const [first] = Object.keys(found);
    if (first === undefined) return;
    setSearch("");
    // once the field is drawn: it may have been folded away
    setTimeout(() => {
      const place = box.current?.querySelector(`[data-field="${first}"]`);
      place?.scrollIntoView({ block: "center" });
      place?.querySelector<HTMLElement>("input, select, textarea")?.focus();
    }, 50);
  };
  const edit = (path: string, typed: string | undefined) => {
    setEdits((now) => {
      const rest = Object.fromEntries(Object.entries(now).filter(([known]) => known !== path));
      return typed === undefined ? rest : { ...rest, [path]: typed };
    });
    setErrors((now) => Object.fromEntries(Object.entries(now).filter(([known]) => known !== path)));
    setKey(newKey());
    start.reset();
  };
  const draft = draftOf(sections, config, edits);
  const submit = () => {
    blame(draft.errors);
    if (Object.keys(draft.errors).length === 0) start.mutate(draft.overrides);
  };
  const { changes } = draft;
  const leaving = useBlocker({
    shouldBlockFn: ({ current, next }) => changes > 0 && current.pathname !== next.pathname,
    enableBeforeUnload: changes > 0,
    withResolver: true,
  });
  const atField = start.error instanceof ApiError && blamed(sections, start.error.field) !== null;
  return (
    <Page title={original ? `Clone round ${original.id}` : "Start a round"}>
      <form
        ref={box}
        noValidate
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {original ? null : (
          <Presets
            presets={form.presets}
            chosen={chosen?.name ?? ""}
            onChoose={(preset) => {
              setErrors({});
              void navigate({ search: { preset }, replace: true });
            }}
          />
        )}
        <label className="flex flex-col gap-1">
          <span className="label">Find a setting</span>
          <input
            type="search"
            className="field max-w-sm"
            placeholder="minutes, lr, concurrency …"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
            onKeyDown={(event) => {
              // it finds: a round is started by its button
              if (event.key === "Enter") event.preventDefault();
            }}
          />
        </label>
        {sections.map((section) => (
          <ConfigSection
            key={section.name}
            section={section}
            config={config}
            edits={edits}
            errors={errors}
            search={search.trim().toLowerCase()}
            onEdit={edit}
          />
        ))}
        <div className="sticky bottom-14 flex flex-wrap items-center gap-3 rounded-lg border border-line bg-surface p-3 sm:bottom-0">
          <button type="submit" className="button button-main" disabled={start.isPending}>
            {start.isPending ? "Starting…" : `Start ${name}`}
          </button>
          <Link to="/rounds" className="button">
            Not now
          </Link>
          <p className="min-w-0 flex-1 basis-56 text-muted">
            {changes === 0 ? "Nothing is changed." : `${changes} changed.`} One round runs at a time; this one
            waits in line behind any that is running.
          </p>
          {atField ? null : <Trouble error={start.error} />}
        </div>
      </form>
      <Confirm
        open={leaving.status === "blocked"}
        onOpen={() => leaving.reset?.()}
        title="Leave without starting it?"
        text={`${counted(changes, "change")} of this form would be lost.`}
        action="Leave"
        keep="Stay"
        busy={false}
        error={null}
        onConfirm={() => leaving.proceed?.()}
      />
    </Page>
  );
}

function Presets({
  presets,
  chosen,
  onChoose,
}: {
  presets: readonly Preset[];
  chosen: string;
  onChoose: (name: string) => void;
}) {
  return (
    <Panel title="Preset">
      <fieldset className="grid gap-2 p-3 sm:grid-cols-2">
        <legend className="sr-only">Preset</legend>
        {presets.map((preset) => (
          <label
            key={preset.name}
            className="flex cursor-pointer gap-2.5 rounded-md border border-line px-3 py-2 hover:bg-raised has-checked:border-accent has-checked:bg-accent/8 has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name="preset"
              className="mt-1 size-3.5 shrink-0 self-start accent-accent outline-none"
              checked={preset.name === chosen}
              onChange={() => onChoose(preset.name)}
            />
            <span className="flex min-w-0 flex-col">
              <span className="font-medium">{preset.name}</span>
              <span className="text-muted">{preset.description}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </Panel>
  );
}
