/** How the flywheel turns: what became of episodes, what judges them, and what all of it takes. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import type { DatasetKind } from "../api/words";
import { bytes } from "../format/bytes";
import { count, counted, figure, percent } from "../format/numbers";
import { Ago } from "../parts/Ago";
import { Failed, Loading } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { May } from "../shell/May";
import { Datasets, KINDS, Origin } from "./Datasets";
import { Policies } from "./Policies";
import { routingQuery, scorersQuery, storageQuery } from "./queries";
import { Reliability } from "./Reliability";
import { RouteDialog } from "./RouteDialog";
import { Upkeep } from "./Upkeep";

const route = getRouteApi("/flywheel");

export function FlywheelPage() {
  const search = route.useSearch();
  const [routing, setRouting] = useState(false);
  const open = (
    <May scope="datasets:write">
      <button type="button" className="button" onClick={() => setRouting(true)}>
        Route episodes
      </button>
    </May>
  );
  return (
    <Page title="Flywheel" actions={open}>
      <Origin chosen={search} />
      <div className="grid items-start gap-3 lg:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-3">
          <Datasets />
          <Policies />
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          <Shares />
          <Reliability />
          <Scorers />
          <Storage />
        </div>
      </div>
      <RouteDialog open={routing} onOpen={setRouting} />
    </Page>
  );
}

function Shares() {
  const routing = useQuery(routingQuery);
  const found = routing.data;
  return (
    <Panel title="Where episodes went">
      {routing.isLoadingError ? (
        <Failed error={routing.error} again={() => void routing.refetch()} />
      ) : !found ? (
        <Loading rows={3} label="Loading the routing" />
      ) : (
        <dl className="grid grid-cols-[auto_1fr_auto] items-center gap-x-3 gap-y-2 p-3">
          {(Object.keys(KINDS) as DatasetKind[]).map((kind) => (
            <Share key={kind} name={KINDS[kind]} part={found.by_kind[kind] ?? 0} all={found.episodes} />
          ))}
          <Share name="no dataset" part={found.unrouted} all={found.episodes} />
          <dd className="col-span-3 text-xs text-muted">
            Of {count(found.episodes)} whole training episodes with a verdict; one may be in several.
          </dd>
        </dl>
      )}
    </Panel>
  );
}

function Share({ name, part, all }: { name: string; part: number; all: number }) {
  const share = all === 0 ? 0 : part / all;
  return (
    <>
      <dt>{name}</dt>
      <dd aria-hidden className="h-2 overflow-hidden rounded-full bg-raised">
        <span
          className="block h-full rounded-full bg-accent"
          style={{ width: `${Math.min(100, share * 100)}%` }}
        />
      </dd>
      <dd className="text-right whitespace-nowrap">
        {count(part)} <span className="text-muted">{all === 0 ? "" : percent(share, 0)}</span>
      </dd>
    </>
  );
}

function Scorers() {
  const scorers = useQuery(scorersQuery);
  return (
    <Panel title="Who scored steps">
      {scorers.isLoadingError ? (
        <Failed error={scorers.error} again={() => void scorers.refetch()} />
      ) : scorers.isPending ? (
        <Loading rows={3} label="Loading scorers" />
      ) : scorers.data.length === 0 ? (
        <p className="px-3 py-4 text-muted">Nobody yet.</p>
      ) : (
        <ul aria-label="Scorers" className="divide-y divide-line">
          {scorers.data.map((scorer) => (
            <li key={scorer.name} className="flex flex-wrap gap-x-3 px-3 py-2">
              <span className="min-w-0 truncate font-medium">{scorer.name}</span>
              <span className="ml-auto text-muted">
                {counted(scorer.scores, "step")} of {counted(scorer.trajectories, "episode")}, mean{" "}
                {figure(scorer.mean)}, <Ago atS={scorer.last_at_s} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Storage() {
  const storage = useQuery(storageQuery);
  const held = storage.data;
  return (
    <Panel title="Storage">
      {storage.isLoadingError ? (
        <Failed error={storage.error} again={() => void storage.refetch()} />
      ) : !held ? (
        <Loading rows={3} label="Measuring the storage" />
      ) : (
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 p-3">
          <Line name="Pictures">
            {bytes(held.pictures.bytes)} <span className="text-muted">in {count(held.pictures.blobs)}</span>
          </Line>
          <Line name="Models">
            {bytes(held.models.bytes)} <span className="text-muted">in {counted(held.models.blobs, "file")}</span>
          </Line>
          <Line name="Database">{bytes(held.database_bytes)}</Line>
          {held.free_bytes === null ? null : <Line name="Free">{bytes(held.free_bytes)}</Line>}
          <Line name="Rows">
            <span className="text-muted">
              {Object.entries(held.rows)
                .map(([table, rows]) => `${table.replaceAll("_", " ")} ${count(rows)}`)
                .join(", ")}
            </span>
          </Line>
        </dl>
      )}
      <May scope="store:write">
        <Upkeep />
      </May>
    </Panel>
  );
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}
