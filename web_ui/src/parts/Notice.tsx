/** What a list or page shows when it has nothing, not yet anything, or failed to get it. */

import type { ReactNode } from "react";

import { ApiError } from "../api/client";
import { Coded } from "./Coded";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-1 px-6 py-14 text-center">
      <p className="text-base font-medium">{title}</p>
      {children ? <div className="max-w-md text-muted">{children}</div> : null}
    </div>
  );
}

/** Grey rows where a list will be: the page keeps its shape while it loads. */
export function Loading({ rows = 6, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className="flex flex-col gap-3 p-4">
      {Array.from({ length: rows }, (_, row) => (
        <div
          key={row}
          className="pulse h-3.5 rounded bg-raised"
          style={{ width: `${92 - ((row * 17) % 40)}%` }}
        />
      ))}
    </div>
  );
}

export function Failed({ error, again }: { error: unknown; again?: () => void }) {
  const suggestions = error instanceof ApiError ? error.suggestions : [];
  return (
    <div role="alert" className="flex flex-col items-center gap-3 px-6 py-12 text-center">
      <p className="max-w-lg">
        <span className="mr-1.5 font-semibold text-bad">Failed.</span>
        <Coded text={sentence(error)} />
      </p>
      {suggestions.length > 0 ? <p className="text-muted">Near it: {suggestions.join(", ")}</p> : null}
      {again ? (
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

/** One line of trouble within a form or a dialog; `again` gets anew what could not be had. */
export function Trouble({ error, again }: { error: unknown; again?: () => void }) {
  if (!error) return null;
  return (
    <p role="alert" className="text-sm text-bad">
      <Coded text={sentence(error)} />
      {again ? (
        <>
          {" "}
          <button type="button" className="link" onClick={again}>
            Try again
          </button>
        </>
      ) : null}
    </p>
  );
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : "Something went wrong that was not foreseen.";
}
