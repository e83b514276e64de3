/** Episodes that belong in a list and cannot be read. */

const NAMED = 3;

export function Unreadable({ ids }: { ids: readonly string[] }) {
  if (ids.length === 0) return null;
  const more = ids.length - NAMED;
  return (
    <p role="note" className="min-w-0 text-xs text-muted">
      {ids.length === 1 ? "1 episode" : `${ids.length} episodes`} could not be read:{" "}
      <span className="font-mono break-all" title={ids.join("\n")}>
        {ids.slice(0, NAMED).join(", ")}
      </span>
      {more > 0 ? ` and ${more} more` : ""}; <code className="font-mono">deskhand flywheel fsck</code> says why.
    </p>
  );
}
