/** A dialog with a form in it: fields, what went wrong, and two buttons. */

import type { ReactNode } from "react";

import { Dialog } from "./Dialog";
import { Trouble } from "./Notice";

export function FormDialog({
  open,
  onOpen,
  title,
  action,
  busy,
  ready = true,
  error,
  onSubmit,
  children,
}: {
  open: boolean;
  onOpen: (open: boolean) => void;
  title: string;
  /** What the sending button says. */
  action: string;
  busy: boolean;
  ready?: boolean;
  error: unknown;
  onSubmit: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog open={open} onOpen={onOpen} title={title}>
      <form
        className="flex min-h-0 flex-col"
        onSubmit={(event) => {
          event.preventDefault();
          // React hands it on to a form that the dialog was opened from
          event.stopPropagation();
          onSubmit();
        }}
      >
        <div className="flex min-h-0 flex-col gap-3 overflow-y-auto p-4">
          {children}
          <Trouble error={error} />
        </div>
        <div className="flex justify-end gap-2 border-t border-line px-4 py-3">
          <button type="button" className="button" onClick={() => onOpen(false)}>
            Not now
          </button>
          <button type="submit" className="button button-main" disabled={busy || !ready}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
