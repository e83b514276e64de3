/** A task as it begins, set up in a sandbox when asked for. */

import { useMutation } from "@tanstack/react-query";

import { answer, api } from "../api/client";
import { Trouble } from "../parts/Notice";
import { submission } from "./submission";

/** A preview asks no policy. */
const NOBODY = { policy: "scripted", policyId: "", url: "", model: "" };

export function Preview({ taskId, seed }: { taskId: string; seed: string }) {
  const look = useMutation({
    mutationFn: () =>
      answer(api.POST("/v1/tasks/preview", { body: submission({ ...NOBODY, taskId, seed }) })),
  });
  const ready = taskId.trim() !== "" && /^\d{1,15}$/.test(seed.trim());
  const shown = look.data;
  return (
    <section aria-label="Preview" className="flex flex-col gap-2 border-t border-line p-3">
      <div className="flex items-center gap-3">
        <button
          type="button"
          className="button"
          disabled={!ready || look.isPending}
          onClick={() => look.mutate()}
        >
          {look.isPending ? "Setting it up…" : shown ? "Look again" : "Preview"}
        </button>
        <span className="text-muted">
          {shown
            ? `${shown.kind}, ${shown.turns} turns, ${shown.seconds} s at most`
            : "Sets the task up in a sandbox and shows its instruction and first screen."}
        </span>
      </div>
      <Trouble error={look.error} />
      {shown ? (
        <figure className="flex flex-col gap-2">
          <figcaption data-testid="preview-instruction" className="font-medium break-words">
            {shown.instruction}
          </figcaption>
          <img
            src={shown.screen}
            alt={`First screen of ${taskId}, seed ${seed}`}
            width={shown.width_px}
            height={shown.height_px}
            className="h-auto max-h-96 w-auto max-w-full self-start border border-line object-contain"
          />
        </figure>
      ) : null}
    </section>
  );
}
