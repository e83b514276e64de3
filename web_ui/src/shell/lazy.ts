/** Pages in files of their own, loaded when they are first opened. */

import { lazyRouteComponent } from "@tanstack/react-router";

import { ApiError } from "../api/client";

/**
 * As `lazyRouteComponent`, which reloads the whole page when a file is not found: right after another version was
 * installed, but with a server that does not answer it would leave the browser's own error page.
 */
export const lazyPage: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(async () => {
    try {
      return await load();
    } catch (error) {
      if (await answers()) throw error;
      throw new ApiError(0, "The platform does not answer. Is `deskhand serve` running?");
    }
  }, name);

/** Whether the server does. */
export function answers(): Promise<boolean> {
  return fetch("/healthz", { cache: "no-store" }).then(
    () => true,
    () => false,
  );
}
