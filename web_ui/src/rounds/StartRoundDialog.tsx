/** Chooses a preset and starts a round from it. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { presetsQuery } from "../api/queries";
import { Dialog } from "../parts/Dialog";
import { Empty, Failed, Loading, Trouble } from "../parts/Notice";

export function StartRoundDialog({ open, onOpen }: { open: boolean; onOpen: (open: boolean) => void }) {
  return (
    <Dialog open={open} onOpen={onOpen} title="Start a round">
      <Choose onClose={() => onOpen(false)} />
    </Dialog>
  );
}

function Choose({ onClose }: { onClose: () => void }) {
  const presets = useQuery(presetsQuery);
  const [picked, setPicked] = useState<string | null>(null);
  const client = useQueryClient();
  const navigate = useNavigate();
  // the platform's default comes first
  const chosen = presets.data?.find((preset) => preset.name === picked) ?? presets.data?.[0];
  const start = useMutation({
    mutationFn: (preset: string) => answer(api.POST("/v1/rounds", { body: { preset, overrides: {} } })),
    onSuccess: async (round) => {
      await client.invalidateQueries({ queryKey: ["rounds"] });
      onClose();
      await navigate({ to: "/rounds/$id", params: { id: String(round.id) } });
    },
  });
  if (presets.isError) return <Failed error={presets.error} again={() => void presets.refetch()} />;
  if (presets.isPending) return <Loading rows={4} label="Loading presets" />;
  if (!chosen) return <Empty title="This platform has no preset" />;
  return (
    <form
      className="flex min-h-0 flex-col"
      onSubmit={(event) => {
        event.preventDefault();
        start.mutate(chosen.name);
      }}
    >
      <div className="flex min-h-0 flex-col gap-3 overflow-y-auto p-4">
        <fieldset className="flex flex-col gap-1.5">
          <legend className="label mb-1.5">Preset</legend>
          {presets.data.map((preset) => (
            <label
              key={preset.name}
              className="flex cursor-pointer gap-2.5 rounded-md border border-line px-3 py-2 hover:bg-raised has-checked:border-accent has-checked:bg-accent/8 has-focus-visible:outline-2 has-focus-visible:outline-accent"
            >
              <input
                type="radio"
                name="preset"
                className="mt-1 size-3.5 shrink-0 self-start accent-accent outline-none"
                checked={preset.name === chosen.name}
                onChange={() => setPicked(preset.name)}
              />
              <span className="flex min-w-0 flex-col">
                <span className="font-medium">{preset.name}</span>
                <span className="text-muted">{preset.description}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <details className="text-sm">
          <summary className="cursor-pointer text-muted">Everything {chosen.name} sets</summary>
          <pre className="mt-2 max-h-56 overflow-auto rounded-md bg-raised p-2.5 font-mono text-xs">
            {JSON.stringify(chosen.config, null, 2)}
          </pre>
        </details>
        <p className="text-muted">
          One round runs at a time; this one waits in line behind any that is running.
        </p>
        <Trouble error={start.error} />
      </div>
      <div className="flex justify-end gap-2 border-t border-line px-4 py-3">
        <button type="button" className="button" onClick={onClose}>
          Not now
        </button>
        <button type="submit" className="button button-main" disabled={start.isPending}>
          {start.isPending ? "Starting…" : `Start ${chosen.name}`}
        </button>
      </div>
    </form>
  );
}
