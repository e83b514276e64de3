/** How often something that changes is asked for again. Pure. */

import { ApiError } from "./client";

const SILENT_MS = 15_000;

interface Asked {
  data: unknown;
  error: unknown;
}

/**
 * The next time to ask, in ms. While a server that never answered is asked again, its failure is not shown: so it
 * is let stand for a while.
 */
export function pause(state: Asked, usual: number): number {
  const silent = state.error instanceof ApiError && state.error.status === 0;
  return silent && state.data === undefined ? SILENT_MS : usual;
}

/** There is no such thing, or no longer: that stays so, and any other failure may pass. */
export function gone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
