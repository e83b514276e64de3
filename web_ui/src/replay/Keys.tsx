/** Which keys a replay knows: shown by a button, or by the key that asks. */

import { useId, useState } from "react";

import { useMay } from "../shell/access";
import { useKeys } from "./useKeys";

const LEADING = [
  { keys: ["←", "→"], does: "the step before, the next one" },
  { keys: ["Home", "End"], does: "the first step, the end" },
  { keys: ["Space"], does: "play, pause" },
] as const;
const MARKING = [
  { keys: ["G", "B"], does: "mark the step good, bad" },
  { keys: ["U"], does: "take your mark back" },
  { keys: ["R"], does: "write why; Enter goes back to the keys" },
] as const;
const ASKING = [{ keys: ["?"], does: "show or hide these" }] as const;

/** The button and, when open, a row of its own below: for a bar that wraps. */
export function Keys() {
  const [open, setOpen] = useState(false);
  const list = useId();
  const marks = useMay()("annotations:write") ?? false;
  useKeys<"ask">(
    () => setOpen(!open),
    (key) => (key === "?" ? "ask" : undefined),
  );
  return (
    <>
      <button
        type="button"
        className="button max-sm:hidden"
        title="Keys (?)"
        aria-expanded={open}
        aria-controls={open ? list : undefined}
        onClick={() => setOpen(!open)}
      >
        Keys
      </button>
      {open ? (
        <ul
          id={list}
          aria-label="Keys"
          className="flex w-full flex-wrap gap-x-5 gap-y-1 border-t border-line px-1 pt-2 pb-1 text-muted"
        >
          {[...LEADING, ...(marks ? MARKING : []), ...ASKING].map(({ keys, does }) => (
            <li key={does} className="flex items-center gap-1.5">
              {keys.map((key) => (
                <kbd key={key} className="keycap">
                  {key}
                </kbd>
              ))}
              {does}
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}
