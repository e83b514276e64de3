/**
 * Dialogs: Radix keeps the focus inside, closes on Escape and tells screen readers.
 *
 * Its own overlay is not used: it locks scrolling by a style element, which the page's content policy refuses.
 */

import { AlertDialog as RadixAlert, Dialog as Radix } from "radix-ui";
import { useRef, type ReactNode } from "react";

import { Trouble } from "./Notice";

const BOX =
  "panel fixed top-1/2 left-1/2 z-50 flex max-h-[88dvh] w-[min(34rem,calc(100vw-1.5rem))] -translate-x-1/2 -translate-y-1/2 flex-col overflow-hidden shadow-2xl shadow-black/30";
const SHADE = <div aria-hidden className="fixed inset-0 z-40 bg-black/45" />;

/** Gives the focus back to what opened the dialog: Radix does only where that is a trigger of its own. */
function useFocusBack() {
  const before = useRef<Element | null>(null);
  return {
    onOpenAutoFocus: () => {
      before.current = document.activeElement;
    },
    onCloseAutoFocus: (event: globalThis.Event) => {
      event.preventDefault();
      if (before.current instanceof HTMLElement) before.current.focus();
    },
  };
}

export function Dialog({
  open,
  onOpen,
  title,
  children,
}: {
  open: boolean;
  onOpen: (open: boolean) => void;
  title: string;
  children: ReactNode;
}) {
  const { onOpenAutoFocus, onCloseAutoFocus } = useFocusBack();
  const typed = useRef(false);
  return (
    <Radix.Root open={open} onOpenChange={onOpen}>
      <Radix.Portal>
        {SHADE}
        <Radix.Content
          aria-modal
          className={BOX}
          aria-describedby={undefined}
          onOpenAutoFocus={() => {
            typed.current = false;
            onOpenAutoFocus();
          }}
          onCloseAutoFocus={onCloseAutoFocus}
          onInput={() => {
            typed.current = true;
          }}
          // a press beside it is soon made, and would lose what was typed
          onInteractOutside={(event) => {
            if (typed.current) event.preventDefault();
          }}
        >
          <Radix.Title className="border-b border-line px-4 py-3 text-base font-semibold">
            {title}
          </Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Asks before something that cannot be taken back. */
export function Confirm({
  open,
  onOpen,
  title,
  text,
  action,
  keep,
  busy,
  error,
  onConfirm,
}: {
  open: boolean;
  onOpen: (open: boolean) => void;
  title: string;
  text: string;
  /** What the confirming button says. */
  action: string;
  /** What the other button says. */
  keep: string;
  busy: boolean;
  error: unknown;
  onConfirm: () => void;
}) {
  const focus = useFocusBack();
  return (
    <RadixAlert.Root open={open} onOpenChange={onOpen}>
      <RadixAlert.Portal>
        {SHADE}
        <RadixAlert.Content {...focus} aria-modal className={`${BOX} gap-3 p-4`}>
          <RadixAlert.Title className="text-base font-semibold">{title}</RadixAlert.Title>
          <RadixAlert.Description className="text-muted">{text}</RadixAlert.Description>
          <Trouble error={error} />
          <div className="mt-1 flex justify-end gap-2">
            <RadixAlert.Cancel className="button">{keep}</RadixAlert.Cancel>
            <button type="button" className="button button-harm" disabled={busy} onClick={onConfirm}>
              {action}
            </button>
          </div>
        </RadixAlert.Content>
      </RadixAlert.Portal>
    </RadixAlert.Root>
  );
}
