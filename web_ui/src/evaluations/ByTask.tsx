/** How a suite went task by task, folded away. */

import type { Evaluation } from "../api/words";
import { RateBar } from "../rounds/RateBar";

export function ByTask({ evaluation }: { evaluation: Evaluation }) {
  const rows = evaluation.rows.filter((row) => row.task !== "all");
  if (evaluation.tasks.length < 2 || rows.length === 0) return null;
  return (
    <details>
      <summary className="cursor-pointer text-xs text-muted">Task by task</summary>
      <ul className="mt-1 flex flex-col gap-1.5">
        {rows.map((row) => (
          <li key={`${row.task} ${row.mode}`} className="flex flex-col">
            <span className="text-xs wrap-anywhere text-muted">
              {row.task}, {row.mode}
            </span>
            <RateBar rate={row} compact />
          </li>
        ))}
      </ul>
    </details>
  );
}
