/** Events of a subject, as React state. */

import { useQuery } from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";

import type { Event } from "../api/words";
import { ApiError } from "../api/client";
import { Feed } from "./feed";
import { parseEvents } from "./parse";

const NOTHING: readonly Event[] = [];
const silent = () => () => undefined;
const nothing = () => NOTHING;

/** Follows the subject while `live`; otherwise fetches its past once. No subject: no events. */
export function useEvents(subject: string | null, live: boolean): readonly Event[] {
  const feed = useMemo(() => (subject !== null && live ? new Feed(subject) : null), [subject, live]);
  const followed = useSyncExternalStore(feed?.subscribe ?? silent, feed?.events ?? nothing);
  const past = useQuery({
    queryKey: ["events", subject],
    queryFn: ({ signal }) => fetchPast(subject ?? "", signal),
    enabled: subject !== null && !live,
    staleTime: Infinity,
  });
  return live ? followed : (past.data ?? NOTHING);
}

async function fetchPast(subject: string, signal: AbortSignal): Promise<readonly Event[]> {
  const response = await fetch(`/v1/events?follow=false&subject=${encodeURIComponent(subject)}`, { signal });
  if (!response.ok) throw new ApiError(response.status, "The events of this run cannot be read.");
  return parseEvents(await response.text());
}
