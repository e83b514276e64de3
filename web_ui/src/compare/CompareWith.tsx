/** Chooses another episode of the same task to lay beside one. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { trajectoriesQuery } from "../api/queries";
import type { TrajectoryDetail, TrajectorySummary } from "../api/words";
import { counted } from "../format/numbers";
import { Ago } from "../parts/Ago";
import { Dialog } from "../parts/Dialog";
import { More } from "../parts/More";
import { Empty, Failed, Loading } from "../parts/Notice";
import { PolicyName } from "../parts/PolicyName";
import { OutcomeMark } from "../trajectories/OutcomeMark";
import { Unreadable } from "../trajectories/Unreadable";

export function CompareWith({ trajectory }: { trajectory: TrajectoryDetail }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        Compare with…
      </button>
      <Dialog open={open} onOpen={setOpen} title={`Compare with another ${trajectory.task_id}`}>
        <Others trajectory={trajectory} />
      </Dialog>
    </>
  );
}

function Others({ trajectory }: { trajectory: TrajectoryDetail }) {
  const list = useInfiniteQuery(trajectoriesQuery({ task: trajectory.task_id }));
  const [alike, setAlike] = useState(true);
  const unreadable = list.data?.pages.flatMap((page) => page.unreadable) ?? [];
  const others = list.data?.pages.flatMap((page) => page.items).filter((each) => each.id !== trajectory.id);
  const shown = others?.filter((each) => !alike || each.seed === trajectory.seed) ?? [];
  return (
    <div className="flex min-h-0 flex-col">
      <label className="flex items-center gap-1.5 border-b border-line px-4 py-2">
        <input
          type="checkbox"
          className="accent-accent"
          checked={alike}
          onChange={(event) => setAlike(event.target.checked)}
        />
        Only those that began alike (seed {trajectory.seed})
      </label>
      <div className="min-h-0 overflow-auto">
        {list.isError && others === undefined ? (
          <Failed error={list.error} again={() => void list.refetch()} />
        ) : others === undefined ? (
          <Loading label="Loading trajectories" />
        ) : shown.length === 0 ? (
          <Empty title="None among those loaded" />
        ) : (
          <ul>
            {shown.map((other) => (
              <Other key={other.id} one={trajectory.id} other={other} />
            ))}
          </ul>
        )}
        {unreadable.length === 0 ? null : (
          <div className="px-4 py-2">
            <Unreadable ids={unreadable} />
          </div>
        )}
        <More more={list.hasNextPage} onMore={() => list.fetchNextPage({ throwOnError: true })} />
      </div>
    </div>
  );
}

function Other({ one, other }: { one: string; other: TrajectorySummary }) {
  return (
    <li className="border-b border-line last:border-0">
      <Link
        to="/compare"
        search={{ one, other: other.id }}
        className="flex items-center gap-3 px-4 py-2 hover:bg-raised"
      >
        <span className="w-24 shrink-0">
          <OutcomeMark trajectory={other} />
        </span>
        <span className="min-w-0 flex-1 truncate">
          <PolicyName id={other.policy_id} />
        </span>
        <span className="text-muted">
          #{other.seed} · {counted(other.turns, "turn")}
        </span>
        <span className="w-20 shrink-0 text-right text-xs text-muted">
          <Ago atS={other.started_at_s} />
        </span>
      </Link>
    </li>
  );
}
