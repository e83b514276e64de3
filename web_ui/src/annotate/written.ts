/** What somebody is writing about a step: who looks at another one meanwhile finds it again. */

import { useState } from "react";

import { currentSession } from "../shell/session";

/** By who is signed in and what it is about; nothing of what is empty. */
const kept = new Map<string, string>();

/** `change` makes the new text of what stands there by then. */
export function useWritten(about: string): readonly [string, (change: (now: string) => string) => void] {
  const place = `${currentSession().visit} ${about}`;
  const [text, setText] = useState(() => kept.get(place) ?? "");
  const write = (change: (now: string) => string) => {
    const next = change(kept.get(place) ?? "");
    if (next === "") kept.delete(place);
    else kept.set(place, next);
    setText(next);
  };
  return [text, write];
}
