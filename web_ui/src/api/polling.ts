/** How often something that changes is asked for again. Pure. */

import { ApiError } from "./client";

const GONE_MS = 15_000;

interface Asked {
  data: unknown;
  error: unknown;
}

/**
 * The next time to ask, in ms. While a server that never answered is asked again, its failure is not shown: so it
 * is let stand for a while.
 */
export function pause(state: Asked, usual: number): number {
  const gone = state.error instanceof ApiError && state.error.status === 0;
  return gone && state.data === undefined ? GONE_MS : usual;
}
