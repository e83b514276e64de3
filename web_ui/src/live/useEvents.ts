/** Events of some subjects, as React state. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, useSyncExternalStore } from "react";

import type { Event } from "../api/words";
import { ApiError } from "../api/client";
import { Feed, query, type FeedState } from "./feed";
import { parseEvents } from "./parse";

const UNREAD = "The events of this run cannot be read.";
const NOTHING: readonly Event[] = [];
const silent = () => () => undefined;
const nothing = () => NOTHING;
const open = (): FeedState => "open";

export interface Events {
  events: readonly Event[];
  /** Why they cannot be read; what was read before stays in `events`. */
  error: Error | null;
  /** Nothing is known of them yet. */
  loading: boolean;
  again: () => void;
}

/** Follows the subjects while `live`, all over one connection; otherwise fetches their past. */
export function useEvents(subjects: readonly string[], live: boolean): Events {
  const key = query(subjects);
  // the text stands for the list, which is a new one at every drawing
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const feed = useMemo(() => (live && subjects.length > 0 ? new Feed(subjects) : null), [key, live]);
  const followed = useSyncExternalStore(feed?.subscribe ?? silent, feed?.events ?? nothing);
  const state = useSyncExternalStore(feed?.subscribe ?? silent, feed?.state ?? open);
  const past = useQuery({
    queryKey: ["events", key],
    queryFn: ({ signal }) => fetchPast(key, signal),
    enabled: !live && subjects.length > 0,
  });
  if (live)
    return {
      events: followed,
      error: state === "failed" ? new ApiError(0, UNREAD) : null,
      loading: state === "opening" && followed.length === 0,
      again: () => feed?.again(),
    };
  return {
    events: past.data ?? NOTHING,
    error: past.error,
    loading: past.isLoading,
    again: () => void past.refetch(),
  };
}

/** Calls `tell` when an event has arrived that was not there before. */
export function useNews(events: readonly Event[], tell: () => void): void {
  const newest = events.at(-1)?.id;
  const heard = useEffectEvent(tell);
  useEffect(() => {
    if (newest !== undefined) heard();
  }, [newest]);
}

async function fetchPast(subjects: string, signal: AbortSignal): Promise<readonly Event[]> {
  const response = await fetch(`/v1/events?follow=false&${subjects}`, { signal });
  if (!response.ok) throw new ApiError(response.status, UNREAD);
  return parseEvents(await response.text());
}
