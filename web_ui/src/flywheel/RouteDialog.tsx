/** Routes episodes into datasets: shows what each route would take before it is done. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";

import { answer, api } from "../api/client";
import type { Routed, RouteOrder } from "../api/words";
import { count, counted } from "../format/numbers";
import { Dialog } from "../parts/Dialog";
import { Trouble } from "../parts/Notice";
import { usePolicyNames } from "../parts/PolicyName";
import { KINDS } from "./Datasets";

const RULES = "sft:\n  outcome: success\n  unique: true\n";

export function RouteDialog({ open, onOpen }: { open: boolean; onOpen: (open: boolean) => void }) {
  return (
    <Dialog open={open} onOpen={onOpen} title="Route episodes">
      <Form done={() => onOpen(false)} />
    </Dialog>
  );
}

function Form({ done }: { done: () => void }) {
  const [order, setOrder] = useState<RouteOrder>({ name: "routed", rules: "" });
  const ids = { name: useId(), task: useId(), policy: useId(), rules: useId() };
  const client = useQueryClient();
  const names = usePolicyNames();
  const look = useMutation({
    mutationFn: (body: RouteOrder) => answer(api.POST("/v1/datasets/preview", { body })),
  });
  const make = useMutation({
    mutationFn: (body: RouteOrder) => answer(api.POST("/v1/datasets", { body })),
    onSuccess: async () => {
      await Promise.all([
        client.invalidateQueries({ queryKey: ["datasets"] }),
        client.invalidateQueries({ queryKey: ["routing"] }),
      ]);
      done();
    },
  });
  const set = (part: Partial<RouteOrder>) => {
    setOrder((now) => ({ ...now, ...part }));
    look.reset();
    make.reset();
  };
  return (
    <form
      className="flex flex-col gap-3 overflow-y-auto p-4"
      onSubmit={(event) => {
        event.preventDefault();
        look.mutate(order);
      }}
    >
      <label htmlFor={ids.name} className="flex flex-col gap-1">
        <span className="label">Name of the datasets</span>
        <input
          id={ids.name}
          className="field"
          value={order.name}
          onChange={(event) => set({ name: event.target.value })}
        />
      </label>
      <div className="grid grid-cols-2 gap-3">
        <label htmlFor={ids.task} className="flex flex-col gap-1">
          <span className="label">Only of this task</span>
          <input
            id={ids.task}
            className="field"
            value={order.task_id ?? ""}
            onChange={(event) => set({ task_id: event.target.value || null })}
          />
        </label>
        <label htmlFor={ids.policy} className="flex flex-col gap-1">
          <span className="label">Only of this policy</span>
          <input
            id={ids.policy}
            className="field"
            value={order.policy_id ?? ""}
            list={`${ids.policy}-known`}
            onChange={(event) => set({ policy_id: event.target.value || null })}
          />
          <datalist id={`${ids.policy}-known`}>
            {[...names].map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </datalist>
        </label>
      </div>
      <label htmlFor={ids.rules} className="flex flex-col gap-1">
        <span className="label">Routes, as YAML laid on the usual ones</span>
        <textarea
          id={ids.rules}
          className="field h-28 py-1.5 font-mono"
          spellCheck={false}
          placeholder={RULES}
          value={order.rules}
          onChange={(event) => set({ rules: event.target.value })}
        />
      </label>
      <Trouble error={look.error ?? make.error} />
      {look.data ? <Preview routes={look.data} /> : null}
      <div className="flex justify-end gap-2">
        <button type="button" className="button" onClick={done}>
          Close
        </button>
        <button type="submit" className="button" disabled={look.isPending}>
          {look.isPending ? "Looking…" : "Preview"}
        </button>
        <button
          type="button"
          className="button button-main"
          disabled={make.isPending || !look.data?.some((route) => route.trajectories > 0)}
          onClick={() => make.mutate(order)}
        >
          Make datasets
        </button>
      </div>
    </form>
  );
}

function Preview({ routes }: { routes: readonly Routed[] }) {
  return (
    <ul aria-label="What each route takes" className="divide-y divide-line rounded border border-line">
      {routes.map((route) => (
        <li key={route.dataset} className="flex flex-wrap gap-x-3 px-3 py-1.5">
          <span className="font-medium">{route.dataset}</span>
          <span className="text-muted">{KINDS[route.kind]}</span>
          <span className="ml-auto">{counted(route.trajectories, "episode")}</span>
          <span className="w-full text-xs text-muted">
            {Object.entries(route.left_out)
              .map(([why, number]) => `${count(number)} ${why}`)
              .join(", ")}
          </span>
        </li>
      ))}
    </ul>
  );
}
