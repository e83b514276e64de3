/** Every sandbox that is on loan now, with its screen. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { sandboxesQuery } from "../api/queries";
import type { LiveSandbox } from "../api/words";
import { span } from "../format/times";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Page } from "../parts/Page";

const LOOK_MS = 2000;

export function SandboxesPage() {
  const list = useQuery(sandboxesQuery);
  return (
    <Page title="Live" beside={list.data ? <span className="text-muted">{list.data.items.length} running</span> : null}>
      {list.data && list.data.items.length > 0 ? (
        <ul aria-label="Sandboxes" className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3 xl:grid-cols-4">
          {list.data.items.map((one) => (
            <Card key={one.id} one={one} />
          ))}
        </ul>
      ) : (
        <div className="panel">
          {list.isError ? (
            <Failed error={list.error} again={() => void list.refetch()} />
          ) : list.data ? (
            <Empty title="No sandbox is on loan">
              <Link to="/tasks" className="link">
                Submit a task
              </Link>{" "}
              or start a round, and what they work in appears here.
            </Empty>
          ) : (
            <Loading rows={6} label="Loading sandboxes" />
          )}
        </div>
      )}
    </Page>
  );
}

function Card({ one }: { one: LiveSandbox }) {
  const address = useGlimpse(one.id);
  return (
    <li className="panel relative min-w-0 overflow-hidden hover:border-accent">
      <div className="grid h-44 place-items-center bg-raised/60 p-2">
        {address === null ? (
          <span className="text-muted">Nothing on it yet</span>
        ) : (
          <img src={address} alt="" className="max-h-40 max-w-full object-contain" />
        )}
      </div>
      <div className="border-t border-line px-3 py-2">
        <Link
          to="/sandboxes/$id"
          params={{ id: one.id }}
          className="block truncate font-medium after:absolute after:inset-0"
        >
          {one.task_id ?? `${one.kind} sandbox`}
        </Link>
        <p className="flex justify-between gap-2 text-xs text-muted">
          <span className="truncate" title={one.owner}>
            {one.kind} · {one.taken_by ? `${one.taken_by} at the controls` : one.task ? "submitted task" : one.owner}
          </span>
          <span className="whitespace-nowrap">{span(one.age_s)}</span>
        </p>
      </div>
    </li>
  );
}

/** The address of its picture now and then: streams of all of them would take every connection there is. */
function useGlimpse(id: string): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    let made: string | null = null;
    let tag: string | null = null;
    const stop = new AbortController();
    const look = async () => {
      if (document.hidden) return;
      const headers: HeadersInit = tag === null ? {} : { "If-None-Match": tag };
      const response = await fetch(`/v1/sandboxes/${id}/screen.jpg`, {
        headers,
        cache: "no-store",
        signal: stop.signal,
      });
      if (response.status !== 200) return;
      tag = response.headers.get("ETag");
      const old = made;
      made = URL.createObjectURL(await response.blob());
      setAddress(made);
      if (old !== null) setTimeout(() => URL.revokeObjectURL(old), 1000);
    };
    const quietly = () => void look().catch(() => undefined);
    quietly();
    const timer = setInterval(quietly, LOOK_MS);
    return () => {
      stop.abort();
      clearInterval(timer);
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [id]);
  return address;
}
