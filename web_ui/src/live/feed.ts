/**
 * Events of some subjects, kept up to date over one connection: browsers allow six to a server, over all tabs.
 *
 * They are followed with an `EventSource`, which reconnects by itself and sends the `Last-Event-ID` it
 * has seen. When the server closes it for good (it restarted, say), the feed opens a new one after what it has.
 * Until that one is open it has failed, whatever it has.
 */

import type { Event } from "../api/words";

const REOPEN_MS = 2000;
const KINDS = ["metric", "state", "alarm"] as const;
const NO_EVENTS: readonly Event[] = [];

export type FeedState = "opening" | "open" | "failed";

/** The subjects as they stand in an address. */
export function query(subjects: readonly string[]): string {
  return subjects.map((subject) => `subject=${encodeURIComponent(subject)}`).join("&");
}

export class Feed {
  #events: readonly Event[] = NO_EVENTS;
  #waiting: Event[] = [];
  #state: FeedState = "opening";
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #frame: number | null = null;
  readonly #listeners = new Set<() => void>();
  readonly #url: (after: number) => string;

  constructor(subjects: readonly string[]) {
    this.#url = (after) => `/v1/events?${query(subjects)}&after=${after}`;
  }

  /** What has arrived, in order; the same array until something does. */
  readonly events = (): readonly Event[] => this.#events;

  readonly state = (): FeedState => this.#state;

  /** Opens a new connection at once where the last one failed. */
  readonly again = (): void => {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#open();
  };

  /** Opens with the first listener and closes with the last. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#close();
    };
  };

  #open(): void {
    this.#timer = null;
    const lastId = this.#waiting.at(-1)?.id ?? this.#events.at(-1)?.id ?? 0;
    const source = new EventSource(this.#url(lastId));
    for (const kind of KINDS) {
      source.addEventListener(kind, (message: MessageEvent<string>) => this.#take(message.data));
    }
    source.onopen = () => this.#turn("open");
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;
      this.#turn("failed");
      this.#timer = setTimeout(() => this.#open(), REOPEN_MS);
    };
    this.#source = source;
  }

  #turn(state: FeedState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }

  #close(): void {
    this.#source?.close();
    this.#source = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
    this.#timer = this.#frame = null;
    this.#flush();
  }

  #take(data: string): void {
    this.#waiting.push(JSON.parse(data) as Event);
    // hundreds arrive at once when a subject's past is sent: draw once per frame
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#flush();
      for (const listener of this.#listeners) listener();
    });
  }

  #flush(): void {
    if (this.#waiting.length === 0) return;
    const lastId = this.#events.at(-1)?.id ?? 0;
    this.#events = [...this.#events, ...this.#waiting.filter((event) => event.id > lastId)];
    this.#waiting = [];
  }
}
