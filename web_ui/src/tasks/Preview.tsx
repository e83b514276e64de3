/** A task as it begins: what it is at once, and set up in a sandbox as soon as the form rests. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { answer, api } from "../api/client";
import { catalogQuery } from "../api/queries";
import { counted } from "../format/numbers";
import { LongText } from "../parts/LongText";
import { Trouble } from "../parts/Notice";
import { comesAlone, DRAFT, notLent, submission } from "./submission";

/** Who still types has not chosen yet. */
const REST_MS = 700;

/** Of one task and seed: give it a key of both. */
export function Preview({ taskId, seed }: { taskId: string; seed: string }) {
  const catalog = useQuery(catalogQuery);
  const task = catalog.data?.find((one) => one.id === taskId.trim());
  const ready = taskId.trim() !== "" && task?.lent !== false && /^\d{1,15}$/.test(seed.trim());
  const alone = ready && comesAlone(task);
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!alone) return undefined;
    const rested = setTimeout(() => setAsked(true), REST_MS);
    return () => clearTimeout(rested);
  }, [alone]);
  const look = useQuery({
    queryKey: ["preview", taskId.trim(), seed.trim()],
    queryFn: ({ signal }) =>
      answer(api.POST("/v1/tasks/preview", { body: submission({ ...DRAFT, taskId, seed }, 0), signal })),
    enabled: asked,
    staleTime: Infinity,
    gcTime: 60_000,
    retry: false,
  });
  const shown = look.data;
  const coming = look.isFetching || (alone && !asked);
  return (
    <section aria-label="Preview" className="flex flex-col gap-2 border-t border-line p-3">
      {task ? (
        <p className="text-muted">
          {task.description}
          {shown ? "" : ` ${task.kind}, ${counted(task.turns, "turn")} at most.`}
          {task.held_out ? " Held out: never trained on." : ""}
        </p>
      ) : null}
      <div className="flex items-center gap-3">
        <button
          type="button"
          className="button"
          disabled={!ready || coming}
          onClick={() => (asked ? void look.refetch() : setAsked(true))}
        >
          {coming ? "Setting it up…" : shown ? "Look again" : "Preview"}
        </button>
        <span className="text-muted">
          {shown
            ? `${shown.kind}, ${counted(shown.turns, "turn")}, ${shown.seconds} s at most`
            : task?.lent === false
              ? notLent(task.kind)
              : "Sets the task up in a sandbox and shows its instruction and first screen."}
        </span>
      </div>
      <Trouble error={look.error} />
      {shown ? (
        <figure className="flex flex-col gap-2">
          <figcaption>
            <LongText className="font-medium" testId="preview-instruction" text={shown.instruction} />
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
