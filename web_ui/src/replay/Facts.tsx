/** What is known of the episode as a whole. */

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { TrajectoryDetail } from "../api/words";
import { figure } from "../format/numbers";
import { Ago, Lasted } from "../parts/Ago";
import { PolicyName } from "../parts/PolicyName";
import { May } from "../shell/May";

export function Facts({ trajectory }: { trajectory: TrajectoryDetail }) {
  const facts: [string, ReactNode][] = [
    ["Seed", trajectory.seed],
    ["Reward", figure(trajectory.reward)],
    ["Policy", <Actor key="policy" id={trajectory.policy_id} />],
    ["Update", trajectory.policy_update],
    ["Purpose", trajectory.labels.purpose ?? "–"],
    ["Split", trajectory.split],
    ["Round", <RoundLink key="round" round={trajectory.labels.round} />],
    ["Turns", trajectory.turns],
    ["Began", <Ago key="began" atS={trajectory.started_at_s} />],
    ["Took", <Lasted key="took" startS={trajectory.started_at_s} endS={trajectory.ended_at_s} />],
  ];
  return (
    <section className="panel px-3 py-2.5" aria-label="Episode">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-1 text-sm">
        {facts.map(([name, value]) => (
          <div key={name} className="flex min-w-0 justify-between gap-3">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 truncate text-right">{value}</dd>
          </div>
        ))}
      </dl>
      <a
        className="link mt-2 inline-block"
        href={`/v1/trajectories/${trajectory.id}/replay.html`}
        download={`${trajectory.id}.html`}
      >
        Save this replay as one HTML file
      </a>
    </section>
  );
}

/** To all that it did. */
function Actor({ id }: { id: string }) {
  return (
    <Link className="link" to="/trajectories" search={{ policy: id }}>
      <PolicyName id={id} />
    </Link>
  );
}

function RoundLink({ round }: { round: string | undefined }) {
  if (round === undefined) return "–";
  return (
    <May scope="rounds:read" otherwise={`#${round}`}>
      <Link className="link" to="/rounds/$id" params={{ id: round }}>
        #{round}
      </Link>
    </May>
  );
}
