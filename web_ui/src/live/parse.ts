/** Reads a finished server-sent event stream whose `data` lines are events. */

import type { Event } from "../api/words";

export function parseEvents(stream: string): Event[] {
  return stream
    .split(/\r?\n\r?\n/)
    .map((block) =>
      block
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart())
        .join("\n"),
    )
    .filter((data) => data !== "")
    .map((data) => JSON.parse(data) as Event);
}
