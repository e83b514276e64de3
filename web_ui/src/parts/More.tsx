/** The end of a paged list. */
export function More({ more, busy, onMore }: { more: boolean; busy: boolean; onMore: () => void }) {
  if (!more) return null;
  return (
    <div className="border-t border-line p-2 text-center">
      <button type="button" className="button" disabled={busy} onClick={onMore}>
        {busy ? "Loading…" : "Show older"}
      </button>
    </div>
  );
}
