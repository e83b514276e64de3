/** Alarms that are not over, to be acknowledged. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { answer, api } from "../api/client";
import type { Alarm } from "../api/words";
import { Ago } from "../parts/Ago";
import { Coded } from "../parts/Coded";
import { Trouble } from "../parts/Notice";
import { May } from "../shell/May";
import { roundOf, subjectOf, textOf, titleOf } from "./words";

export function AlarmList({ alarms }: { alarms: readonly Alarm[] }) {
  if (alarms.length === 0) {
    return (
      <p className="px-3 py-4 text-muted">
        <span aria-hidden className="mr-1.5 text-good">
          ✓
        </span>
        None.
      </p>
    );
  }
  return (
    <ul aria-label="Alarms" className="divide-y divide-line">
      {alarms.map((alarm) => (
        <Row key={alarm.id} alarm={alarm} />
      ))}
    </ul>
  );
}

function Row({ alarm }: { alarm: Alarm }) {
  const client = useQueryClient();
  const seen = useMutation({
    mutationFn: () => answer(api.POST("/v1/alarms/{id}/acknowledge", { params: { path: { id: alarm.id } } })),
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["alarms"] }),
        client.invalidateQueries({ queryKey: ["overview"] }),
      ]),
  });
  const round = roundOf(alarm.subject);
  const raised = alarm.state === "raised";
  return (
    <li className="flex items-start gap-2.5 px-3 py-2.5">
      <span aria-hidden className={raised ? "text-bad" : "text-warn"}>
        ▲
      </span>
      <div className="min-w-0 flex-1">
        <p>
          <span className="font-semibold">{titleOf(alarm)}</span>{" "}
          <span className="text-muted">
            {round === null ? (
              subjectOf(alarm.subject)
            ) : (
              <Link className="link" to="/rounds/$id" params={{ id: round }}>
                {subjectOf(alarm.subject)}
              </Link>
            )}
            , <Ago atS={alarm.raised_at_s} />
            {alarm.times > 1 ? `, ${alarm.times} times` : ""}
          </span>
        </p>
        <p className="break-words text-muted"><Coded text={textOf(alarm)} /></p>
        <Trouble error={seen.error} />
      </div>
      {raised ? (
        <May scope="rounds:write">
          <button
            type="button"
            className="button h-7"
            aria-label={`Acknowledge: ${titleOf(alarm)}, ${subjectOf(alarm.subject)}`}
            disabled={seen.isPending}
            onClick={() => seen.mutate()}
          >
            Acknowledge
          </button>
        </May>
      ) : (
        <span className="text-xs whitespace-nowrap text-muted">seen by {alarm.acknowledged_by}</span>
      )}
    </li>
  );
}
