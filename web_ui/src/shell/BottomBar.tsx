/** Navigation on phones: the first places, and one button for those that do not fit beside them. */

import { Link, useLocation } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";

import type { Place } from "./places";

/** What fits beside one another on the narrowest phones. */
const MOST = 5;

const ITEM =
  "flex h-14 flex-col items-center justify-center gap-1 text-xs text-muted data-[status=active]:font-semibold data-[status=active]:text-accent";

export function BottomBar({ places }: { places: readonly Place[] }) {
  const first = places.length > MOST ? places.slice(0, MOST - 1) : places;
  const rest = places.slice(first.length);
  return (
    <nav
      aria-label="Main"
      className="fixed inset-x-0 bottom-0 z-30 grid auto-cols-fr grid-flow-col border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] sm:hidden"
    >
      {first.map((place) => (
        <Link key={place.to} to={place.to} activeOptions={{ exact: place.to === "/" }} className={ITEM}>
          <Sign>{place.sign}</Sign>
          {place.label}
        </Link>
      ))}
      {rest.length > 0 ? <More places={rest} /> : null}
    </nav>
  );
}

function More({ places }: { places: readonly Place[] }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const list = useId();
  const here = useLocation({ select: (location) => location.pathname });
  const chosen = places.find((place) => here === place.to || here.startsWith(`${place.to}/`));
  useEffect(() => {
    if (!open) return undefined;
    const away = (event: globalThis.Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      box.current?.querySelector("button")?.focus();
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("focusin", away);
    document.addEventListener("keydown", key);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("focusin", away);
      document.removeEventListener("keydown", key);
    };
  }, [open]);
  return (
    <div ref={box} className="grid">
      <button
        type="button"
        className={ITEM}
        data-status={chosen ? "active" : undefined}
        aria-expanded={open}
        aria-controls={list}
        onClick={() => setOpen(!open)}
      >
        <Sign>{chosen?.sign ?? <path d="M3 8h.01M8 8h.01M13 8h.01" strokeWidth="2.4" strokeLinecap="round" />}</Sign>
        {chosen ? (
          <>
            {chosen.label}
            <span className="sr-only">, more places</span>
          </>
        ) : (
          "More"
        )}
      </button>
      <ul
        id={list}
        hidden={!open}
        className="panel absolute right-2 bottom-full mb-2 min-w-44 overflow-hidden py-1 shadow-lg shadow-black/30"
      >
        {places.map((place) => (
          <li key={place.to}>
            <Link
              to={place.to}
              className="flex h-11 items-center gap-3 px-4 data-[status=active]:font-semibold data-[status=active]:text-accent"
              onClick={() => setOpen(false)}
            >
              <Sign>{place.sign}</Sign>
              {place.label}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Sign({ children }: { children: ReactNode }) {
  return (
    <svg
      width="18"
      height="18"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      aria-hidden
    >
      {children}
    </svg>
  );
}
