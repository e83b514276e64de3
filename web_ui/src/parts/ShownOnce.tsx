/** A secret that the server tells once: to be copied now. */

import { useState } from "react";

import { Dialog } from "./Dialog";

export interface Secret {
  /** What it is: "Password of ada". */
  title: string;
  text: string;
}

export function ShownOnce({ secret, onDone }: { secret: Secret | null; onDone: () => void }) {
  const [copied, setCopied] = useState(false);
  const close = () => {
    setCopied(false);
    onDone();
  };
  return (
    // nothing but its button closes it: what it shows cannot be had again
    <Dialog open={secret !== null} onOpen={() => undefined} title={secret?.title ?? ""}>
      <div className="flex flex-col gap-3 p-4">
        <p className="text-muted">It is shown this once. Copy it now: only its hash is kept.</p>
        <code
          data-testid="secret"
          className="rounded-md bg-raised p-2.5 font-mono text-sm break-all select-all"
        >
          {secret?.text}
        </code>
        <div className="flex justify-end gap-2">
          {window.isSecureContext ? (
            <button
              type="button"
              className="button"
              onClick={() => {
                navigator.clipboard.writeText(secret?.text ?? "").then(
                  () => setCopied(true),
                  () => setCopied(false),
                );
              }}
            >
              {copied ? "Copied" : "Copy"}
            </button>
          ) : null}
          <button type="button" className="button button-main" onClick={close}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  );
}
