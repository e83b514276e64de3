/** Keeps the store sound and small: checks it, and drops what may go once somebody has seen what that is. */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";

import { answer, api } from "../api/client";
import { over } from "../api/queries";
import type { Job, JobOrder } from "../api/words";
import { bytes } from "../format/bytes";
import { count, counted } from "../format/numbers";
import { Ago } from "../parts/Ago";
import { Confirm } from "../parts/Dialog";
import { More } from "../parts/More";
import { Failed, Loading, Trouble } from "../parts/Notice";
import { StateMark } from "../parts/StateMark";
import { jobQuery, upkeepQuery } from "./queries";

const AT_ONCE = 4;

export function Upkeep() {
  const jobs = useInfiniteQuery(upkeepQuery);
  const [shown, setShown] = useState(AT_ONCE);
  const client = useQueryClient();
  const [days, setDays] = useState("");
  const field = useId();
  const start = useMutation({
    mutationFn: (body: JobOrder) => answer(api.POST("/v1/jobs", { body })),
    onSettled: () => client.invalidateQueries({ queryKey: ["jobs"] }),
  });
  const rule = days === "" ? null : { drop: [{ older_than_days: Number(days) }] };
  return (
    <section aria-label="Upkeep" className="flex flex-col gap-2 border-t border-line p-3">
      <div className="flex flex-wrap items-end gap-2">
        <button
          type="button"
          className="button"
          disabled={start.isPending}
          onClick={() => start.mutate({ kind: "fsck", repair: false, settle_hours: 1 })}
        >
          Check the store
        </button>
        <button
          type="button"
          className="button"
          disabled={start.isPending}
          onClick={() => start.mutate({ kind: "gc", rule, apply: false })}
        >
          See what may go
        </button>
        <label htmlFor={field} className="flex flex-col gap-1">
          <span className="label">Episodes older than so many days, too</span>
          <input
            id={field}
            className="field w-28"
            type="number"
            min={0}
            placeholder="none"
            value={days}
            onChange={(event) => setDays(event.target.value)}
          />
        </label>
      </div>
      <Trouble error={start.error} />
      {jobs.isError && jobs.data === undefined ? (
        <Failed error={jobs.error} again={() => void jobs.refetch()} />
      ) : jobs.isPending ? (
        <Loading rows={2} label="Loading checks and collections" />
      ) : jobs.data.length === 0 && !jobs.hasNextPage ? (
        <p className="text-muted">Never checked here, and nothing dropped.</p>
      ) : (
        <>
          <ul aria-label="Checks and collections" className="divide-y divide-line">
            {jobs.data.slice(0, shown).map((job) => (
              <Row key={job.id} job={job} apply={(order) => start.mutateAsync(order)} />
            ))}
          </ul>
          <More
            more={jobs.hasNextPage || jobs.data.length > shown}
            onMore={async () => {
              if (jobs.hasNextPage && jobs.data.length < 2 * shown)
                await jobs.fetchNextPage({ throwOnError: true });
              setShown(2 * shown);
            }}
          />
        </>
      )}
    </section>
  );
}

function Row({ job, apply }: { job: Job; apply: (order: JobOrder) => Promise<unknown> }) {
  const done = useQuery({ ...jobQuery(job.id), enabled: job.state === "done" });
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => answer(api.POST("/v1/jobs/{id}/cancel", { params: { path: { id: job.id } } })),
    onSuccess: () => setAsking(false),
    onSettled: () => client.invalidateQueries({ queryKey: ["jobs"] }),
  });
  const [asking, setAsking] = useState(false);
  const result = done.data?.result;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
      <StateMark state={job.state} />
      <span className="min-w-0 break-words">
        {job.kind === "fsck" ? "Check" : `${job.order.apply ? "Collection" : "What may go"}${older(job)}`}
        {": "}
        {over(job.state) ? (result ? said(job, result) : (job.reason ?? "…")) : progress(job)}
      </span>
      <span className="text-xs text-muted">
        {job.by}, <Ago atS={job.asked_at_s} />
      </span>
      {over(job.state) ? null : (
        <>
          <button
            type="button"
            className="button ml-auto"
            disabled={cancel.isPending || cancel.isSuccess}
            onClick={() => setAsking(true)}
          >
            {cancel.isSuccess ? "Stopping…" : "Stop"}
          </button>
          <Confirm
            open={asking}
            onOpen={setAsking}
            title={job.kind === "fsck" ? "Stop this check?" : "Stop this collection?"}
            text={
              job.order.apply
                ? "What it has dropped stays dropped; the rest stays, and goes the next time."
                : "What it has seen so far is lost; another begins at the beginning."
            }
            action={cancel.isPending ? "Stopping…" : "Stop it"}
            keep="Let it go on"
            busy={cancel.isPending}
            error={cancel.error}
            onConfirm={() => cancel.mutate()}
          />
        </>
      )}
      {job.kind === "gc" && result && !result.applied && Number(result.blobs) + dropped(result) > 0 ? (
        <Drop job={job} what={said(job, result)} apply={apply} />
      ) : null}
      <Trouble error={done.error} />
    </li>
  );
}

function Drop({
  job,
  what,
  apply,
}: {
  job: Job;
  what: string;
  apply: (order: JobOrder) => Promise<unknown>;
}) {
  const [asking, setAsking] = useState(false);
  const drop = useMutation({
    mutationFn: () => apply({ kind: "gc", rule: job.order.rule as never, apply: true }),
    onSuccess: () => setAsking(false),
  });
  return (
    <>
      <button type="button" className="button ml-auto" onClick={() => setAsking(true)}>
        Drop it…
      </button>
      <Confirm
        open={asking}
        onOpen={setAsking}
        title="Drop it for good?"
        text={`When it was looked at: ${what} What has become old enough since goes as well; what a dataset, a policy, a person's mark or a round under way needs stays.`}
        action={drop.isPending ? "Beginning…" : "Drop it"}
        keep="Keep it"
        busy={drop.isPending}
        error={drop.error}
        onConfirm={() => drop.mutate()}
      />
    </>
  );
}

type Result = NonNullable<Job["result"]>;

function dropped(result: Result): number {
  return Array.isArray(result.trajectories) ? result.trajectories.length : 0;
}

/** What came of it, in a sentence. */
function said(job: Job, result: Result): string {
  if (job.kind === "gc") {
    const what = `${counted(dropped(result), "episode")}, ${counted(Number(result.blobs), "file")} of ${bytes(Number(result.bytes))}`;
    return result.applied ? `${what} dropped.` : `${what} would go.`;
  }
  const found = Object.entries(result.counts ?? {})
    .map(([kind, number]) => `${count(Number(number))} ${kind.replaceAll("_", " ")}`)
    .join(", ");
  const all = `${counted(Number(result.trajectories), "episode")} and ${counted(Number(result.blobs), "file")}`;
  return result.ok ? `nothing is lost among ${all}${found ? ` (${found})` : ""}.` : `${found} among ${all}.`;
}

/** Which episodes its rule lets go, as far as this page makes rules; the files of nobody go in any case. */
function older(job: Job): string {
  const rule = job.order.rule as { drop?: { older_than_days?: number }[] } | null | undefined;
  const days = rule?.drop?.map((one) => one.older_than_days).filter((one) => one !== undefined) ?? [];
  return days.length === 0 ? "" : ` of what is older than ${days.join(" or ")} days`;
}

function progress(job: Job): string {
  if (job.state === "queued" || job.phase === "") return "waits its turn";
  return job.total === 0 ? job.phase : `${job.phase}, ${count(job.done)} of ${count(job.total)}`;
}
