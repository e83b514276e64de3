/** Starts new episodes that leave this one at a step, and shows those that did. */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { branchesQuery, policyChoicesQuery, trajectoryQuery } from "../api/queries";
import type { TrajectoryDetail } from "../api/words";
import { Dialog } from "../parts/Dialog";
import { More } from "../parts/More";
import { Trouble } from "../parts/Notice";
import { PolicyOptions } from "../parts/PolicyOptions";
import { PolicyName } from "../parts/PolicyName";
import { OutcomeMark } from "../trajectories/OutcomeMark";
import { Unreadable } from "../trajectories/Unreadable";

export function BranchButton({
  trajectory,
  step,
  onStay,
}: {
  trajectory: TrajectoryDetail;
  step: number;
  /** Somebody is about to leave it at this step: it stays. */
  onStay: () => void;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={step >= trajectory.turns}
        title={step >= trajectory.turns ? "Go to the step to leave it at" : undefined}
        onClick={() => {
          onStay();
          setOpen(true);
        }}
      >
        Branch…
      </button>
      <Dialog open={open} onOpen={setOpen} title={`Branch at step ${step}`}>
        <BranchForm trajectory={trajectory} step={step} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function BranchForm({
  trajectory,
  step,
  onDone,
}: {
  trajectory: TrajectoryDetail;
  step: number;
  onDone: () => void;
}) {
  const client = useQueryClient();
  const policies = useQuery(policyChoicesQuery);
  const [policy, setPolicy] = useState("scripted");
  const [episodes, setEpisodes] = useState("1");
  const [beside, setBeside] = useState(false);
  const start = useMutation({
    mutationFn: () => {
      const kept = policy === "scripted" ? null : policy;
      return answer(
        api.POST("/v1/trajectories/{id}/branch", {
          params: { path: { id: trajectory.id } },
          body: {
            step,
            episodes: Number(episodes),
            priority: 0,
            policy: {
              name: kept === null ? "scripted" : "local",
              settings: kept === null ? {} : { policy_id: kept },
              review_s: beside ? 120 : null,
            },
          },
        }),
      );
    },
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["branches", trajectory.id] }),
        client.invalidateQueries({ queryKey: ["tasks"] }),
      ]),
  });
  if (start.isSuccess)
    return (
      <div className="flex flex-col gap-3 p-4">
        <p role="status">
          Queued. What comes of it appears under <b>Branches</b> in this replay.
        </p>
        <div className="flex justify-end gap-2">
          <Link to="/tasks" className="button">
            See the queue
          </Link>
          <button type="button" className="button button-main" onClick={onDone}>
            Close
          </button>
        </div>
      </div>
    );
  return (
    <form
      className="flex flex-col gap-3 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        start.mutate();
      }}
    >
      <p className="text-muted">
        The steps before are done again as they were recorded, and every screen is compared. From step {step} on
        somebody else decides.
      </p>
      <label className="flex flex-col gap-1">
        <span className="label">Who decides</span>
        <select className="field" value={policy} onChange={(event) => setPolicy(event.target.value)}>
          <option value="scripted">Scripted oracle</option>
          <PolicyOptions policies={policies.data} shipped />
        </select>
      </label>
      <Trouble error={policies.error} again={() => void policies.refetch()} />
      <label className="flex flex-col gap-1">
        <span className="label">Episodes</span>
        <input
          className="field w-24"
          type="number"
          min={1}
          max={64}
          required
          value={episodes}
          onChange={(event) => setEpisodes(event.target.value)}
        />
      </label>
      <label className="flex items-center gap-1.5">
        <input
          type="checkbox"
          className="accent-accent"
          checked={beside}
          onChange={(event) => setBeside(event.target.checked)}
        />
        A person accepts or replaces each action (under Annotate)
      </label>
      <Trouble error={start.error} />
      <button type="submit" className="button button-main self-end" disabled={start.isPending}>
        {start.isPending ? "Queueing…" : "Start"}
      </button>
    </form>
  );
}

/** Where this episode came from and what left it. */
export function Lineage({ trajectory }: { trajectory: TrajectoryDetail }) {
  const { branch_of: origin, shared_turns: shared, branch_exact: exact } = trajectory.labels;
  const branches = useInfiniteQuery(branchesQuery(trajectory.id));
  const left = branches.data?.pages.flatMap((page) => page.items) ?? [];
  const unreadable = branches.data?.pages.flatMap((page) => page.unreadable) ?? [];
  if (origin === undefined && left.length === 0 && unreadable.length === 0 && !branches.isError) return null;
  return (
    <section className="panel min-w-0" aria-label="Branches">
      <h2 className="panel-title border-b border-line px-3 py-2">Branches</h2>
      <div className="flex flex-col gap-2 p-3">
        {origin === undefined ? null : <Origin one={trajectory.id} origin={origin} shared={shared} exact={exact} />}
        {left.length > 0 ? (
          <ul className="flex flex-col gap-1.5" aria-label="Left here">
            {left.map((each) => (
              <li key={each.id} className="flex min-w-0 items-center gap-3">
                <span className="w-24 shrink-0">
                  <OutcomeMark trajectory={each} />
                </span>
                <Link
                  className="link min-w-0 flex-1 truncate"
                  to="/trajectories/$id"
                  params={{ id: each.id }}
                  search={{ step: Number(each.labels.shared_turns ?? 0) }}
                >
                  from step {each.labels.shared_turns ?? "?"} by <PolicyName id={each.policy_id} />
                </Link>
                <Exactness exact={each.labels.branch_exact} />
                <Link className="link" to="/compare" search={{ one: trajectory.id, other: each.id }}>
                  compare
                </Link>
              </li>
            ))}
          </ul>
        ) : null}
        <Trouble
          error={branches.isFetchNextPageError ? null : branches.error}
          again={() => void branches.refetch()}
        />
        <Unreadable ids={unreadable} />
      </div>
      <More more={branches.hasNextPage} onMore={() => branches.fetchNextPage({ throwOnError: true })} />
    </section>
  );
}

function Origin({
  one,
  origin,
  shared,
  exact,
}: {
  one: string;
  origin: string;
  shared: string | undefined;
  exact: string | undefined;
}) {
  const found = useQuery(trajectoryQuery(origin));
  return (
    <p className="flex min-w-0 flex-wrap items-center gap-x-2">
      Left{" "}
      <Link
        className="link"
        to="/trajectories/$id"
        params={{ id: origin }}
        search={{ step: Number(shared ?? 0) }}
      >
        {found.data ? (
          <>
            an episode of <PolicyName id={found.data.policy_id} />
          </>
        ) : (
          "another episode"
        )}
      </Link>{" "}
      at step {shared ?? "?"} <Exactness exact={exact} />
      <Link className="link" to="/compare" search={{ one: origin, other: one }}>
        compare
      </Link>
    </p>
  );
}

function Exactness({ exact }: { exact: string | undefined }) {
  if (exact !== "no") return null;
  return (
    <span className="text-xs text-warn" title="On the way there some screen looked different from the recorded one">
      inexact
    </span>
  );
}
