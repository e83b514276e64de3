/** Every recorded episode, newest first. */

import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";

import { exportAddress, newestTrajectoryQuery, trajectoriesQuery, type TrajectoryFilter } from "../api/queries";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page } from "../parts/Page";
import { Download } from "./Download";
import { dropEmpty } from "./filter";
import { FilterBar } from "./FilterBar";
import { MORE } from "./MoreFilters";
import { TrajectoryList } from "./TrajectoryList";
import { Unreadable } from "./Unreadable";

const route = getRouteApi("/trajectories");

export function TrajectoriesPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const [more, setMore] = useState(MORE.some((name) => filter[name] !== undefined));
  const list = useInfiniteQuery(trajectoriesQuery(filter));
  const newest = useQuery(newestTrajectoryQuery(filter));
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  const unreadable = list.data?.pages.flatMap((page) => page.unreadable) ?? [];
  const grown =
    !list.isFetching &&
    list.data !== undefined &&
    newest.data != null &&
    newest.data !== (rows[0]?.id ?? null);
  const change = (part: TrajectoryFilter) =>
    void navigate({ search: dropEmpty({ ...filter, ...part }), replace: true });

  return (
    <Page
      title="Trajectories"
      actions={
        rows.length === 0 ? null : <Download key={exportAddress(filter)} filter={filter} />
      }
      beside={
        <>
          {grown ? (
            <button
              type="button"
              className="button h-7 text-accent"
              onClick={() => void client.resetQueries(trajectoriesQuery(filter))}
            >
              ↑ Newer ones
            </button>
          ) : null}
          <Unreadable ids={unreadable} />
        </>
      }
    >
      <FilterBar
        filter={filter}
        more={more}
        onMore={setMore}
        onChange={change}
        onChoose={(chosen) => {
          if (MORE.some((name) => chosen[name] !== undefined)) setMore(true);
          void navigate({ search: chosen, replace: true });
        }}
      />
      <section className="panel flex min-h-0 flex-1 flex-col" aria-busy={list.isFetching}>
        {list.isError && rows.length === 0 ? (
          <Failed error={list.error} again={() => void list.refetch()} />
        ) : list.isPending ? (
          <Loading rows={10} label="Loading trajectories" />
        ) : rows.length === 0 && unreadable.length > 0 && !list.hasNextPage ? (
          <Empty title="None of these could be read" />
        ) : rows.length === 0 && !list.hasNextPage ? (
          <Nothing
            filtered={Object.keys(filter).length > 0}
            onClear={() => void navigate({ search: {}, replace: true })}
          />
        ) : (
          <TrajectoryList
            rows={rows}
            low={more}
            more={list.hasNextPage}
            error={list.isFetchNextPageError ? list.error : null}
            onMore={() => {
              if (!list.isFetching) void list.fetchNextPage();
            }}
          />
        )}
      </section>
    </Page>
  );
}

function Nothing({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (!filtered) {
    return (
      <Empty title="No episode has been recorded yet">
        Submit a task or start a round; every episode appears here as it begins.
      </Empty>
    );
  }
  return (
    <Empty title="No trajectory matches">
      <button type="button" className="button mt-2" onClick={onClear}>
        Clear the filters
      </button>
    </Empty>
  );
}
