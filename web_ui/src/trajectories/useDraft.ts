/** What is being typed into a field; a value that comes from elsewhere takes its place. */

import { useState } from "react";

export function useDraft(value: string): readonly [string, (draft: string) => void] {
  const [draft, setDraft] = useState(value);
  const [from, setFrom] = useState(value);
  if (from !== value) {
    setFrom(value);
    setDraft(value);
  }
  return [draft, setDraft];
}
