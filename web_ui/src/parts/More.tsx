import { useMutation } from "@tanstack/react-query";

import { Trouble } from "./Notice";

/**
 * The end of a paged list. What kept the next page away is told until that is asked for again: a place that shows
 * one list after another gives each a `key`.
 */
export function More({
  more,
  onMore,
}: {
  more: boolean;
  /** Rejects where there is no next page to be had. */
  onMore: () => Promise<unknown>;
}) {
  const next = useMutation({ mutationFn: onMore });
  if (!more) return null;
  return (
    <div className="border-t border-line p-2 text-center">
      <Trouble error={next.error} />
      <button type="button" className="button" disabled={next.isPending} onClick={() => next.mutate()}>
        {next.isPending ? "Loading…" : "Show older"}
      </button>
    </div>
  );
}
