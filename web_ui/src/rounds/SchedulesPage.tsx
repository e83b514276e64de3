/** Rounds that begin by themselves. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { roundFormQuery, schedulesQuery } from "../api/queries";
import type { Schedule } from "../api/words";
import { count } from "../format/numbers";
import { zoned } from "../format/times";
import { Ago } from "../parts/Ago";
import { Confirm, Dialog } from "../parts/Dialog";
import { Empty, Failed, Loading, Trouble } from "../parts/Notice";
import { Page } from "../parts/Page";
import { useMay } from "../shell/access";
import { May } from "../shell/May";
import { RoundsNav } from "./RoundsNav";
import { switched } from "./switching";

export function SchedulesPage() {
  const list = useQuery(schedulesQuery);
  const [adding, setAdding] = useState(false);
  return (
    <Page
      title="Schedules"
      beside={<RoundsNav />}
      actions={
        <May scope="rounds:write">
          <button type="button" className="button button-main" onClick={() => setAdding(true)}>
            Add a schedule
          </button>
        </May>
      }
    >
      <section className="panel">
        {list.isLoadingError ? (
          <Failed error={list.error} again={() => void list.refetch()} />
        ) : list.isPending ? (
          <Loading label="Loading schedules" />
        ) : list.data.length === 0 ? (
          <Empty title="No schedule yet">
            A schedule begins rounds by the clock, or when enough new successes were recorded; never two at a
            time.
          </Empty>
        ) : (
          <ul aria-label="Schedules" className="divide-y divide-line">
            {list.data.map((schedule) => (
              <OneSchedule key={schedule.id} schedule={schedule} />
            ))}
          </ul>
        )}
      </section>
      <Dialog open={adding} onOpen={setAdding} title="Add a schedule">
        <ScheduleForm onClose={() => setAdding(false)} />
      </Dialog>
    </Page>
  );
}

function useChanged() {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: schedulesQuery.queryKey });
}

function OneSchedule({ schedule }: { schedule: Schedule }) {
  const [asking, setAsking] = useState(false);
  const changed = useChanged();
  const allowed = useMay()("rounds:write") ?? false;
  const { id, preset, enabled } = schedule;
  const params = { path: { id } };
  const set = useMutation({
    mutationFn: (on: boolean) => switched(id, on),
    onSettled: changed,
  });
  const remove = useMutation({
    mutationFn: () => answer(api.DELETE("/v1/schedules/{id}", { params })),
    onSuccess: changed,
  });
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-3 py-2.5">
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          role="switch"
          className="size-4 accent-accent"
          checked={enabled}
          disabled={!allowed || set.isPending}
          aria-label={`Schedule ${id} enabled`}
          onChange={(event) => set.mutate(event.target.checked)}
        />
        <span className={enabled ? "" : "text-muted"}>{enabled ? "on" : "off"}</span>
      </label>
      <span className="min-w-0 flex-1 basis-56">
        <span className="font-medium">{preset}</span> <When schedule={schedule} />
        {schedule.note === null ? null : <span className="block break-words text-warn">{schedule.note}</span>}
        <Trouble error={set.error} />
      </span>
      <span className="text-muted">
        {schedule.next_at_s === null ? null : <>next {zoned(schedule.next_at_s)}</>}
        {schedule.last_round === null ? null : (
          <span className="block">
            last{" "}
            <Link className="link" to="/rounds/$id" params={{ id: String(schedule.last_round) }}>
              round {schedule.last_round}
            </Link>{" "}
            <Ago atS={schedule.last_at_s} />
          </span>
        )}
      </span>
      {allowed ? (
        <button
          type="button"
          className="button button-harm"
          aria-label={`Delete schedule ${id}`}
          onClick={() => setAsking(true)}
        >
          Delete
        </button>
      ) : null}
      <Confirm
        open={asking}
        onOpen={setAsking}
        title={`Delete schedule ${id}?`}
        text="No more rounds begin by it. Rounds that it began stay."
        action="Delete the schedule"
        keep="Keep it"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      />
    </li>
  );
}

function When({ schedule }: { schedule: Schedule }) {
  if (schedule.cron === null) {
    return (
      <span className="text-muted">
        when there are {count(schedule.new_successes)} new successes; {count(schedule.successes)} by now
      </span>
    );
  }
  return (
    <span className="text-muted">
      at <code className="font-mono">{schedule.cron}</code> {schedule.timezone}
    </span>
  );
}

function ScheduleForm({ onClose }: { onClose: () => void }) {
  const form = useQuery(roundFormQuery);
  const changed = useChanged();
  const [preset, setPreset] = useState("");
  const [by, setBy] = useState<"cron" | "successes">("cron");
  const [cron, setCron] = useState("0 3 * * *");
  const [successes, setSuccesses] = useState("200");
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const add = useMutation({
    mutationFn: (name: string) => {
      const when = by === "cron" ? { cron } : { new_successes: Number(successes) };
      return answer(api.POST("/v1/schedules", { body: { preset: name, timezone, enabled: true, ...when } }));
    },
    onSuccess: async () => {
      await changed();
      onClose();
    },
  });
  if (form.isLoadingError) return <Failed error={form.error} again={() => void form.refetch()} />;
  if (form.isPending) return <Loading rows={4} label="Loading presets" />;
  const chosen = preset === "" ? (form.data.presets[0]?.name ?? "") : preset;
  return (
    <form
      noValidate
      className="flex flex-col gap-3 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate(chosen);
      }}
    >
      <label className="flex flex-col gap-1">
        <span className="label">Preset</span>
        <select className="field" value={chosen} onChange={(event) => setPreset(event.target.value)}>
          {form.data.presets.map((one) => (
            <option key={one.name}>{one.name}</option>
          ))}
        </select>
      </label>
      <label className="flex flex-col gap-1">
        <span className="label">Begins</span>
        <select
          className="field"
          value={by}
          onChange={(event) => setBy(event.target.value === "cron" ? "cron" : "successes")}
        >
          <option value="cron">at times</option>
          <option value="successes">when there are enough new successes</option>
        </select>
      </label>
      {by === "cron" ? (
        <label className="flex flex-col gap-1">
          <span className="label">Cron expression, {timezone}</span>
          <input
            className="field font-mono"
            spellCheck={false}
            value={cron}
            onChange={(event) => setCron(event.target.value)}
          />
          <span className="text-xs text-muted">
            Minute, hour, day of month, month, day of week: 0 3 * * 1-5 is three o&apos;clock on workdays.
          </span>
        </label>
      ) : (
        <label className="flex flex-col gap-1">
          <span className="label">New successes</span>
          <input
            className="field"
            inputMode="numeric"
            value={successes}
            onChange={(event) => setSuccesses(event.target.value)}
          />
          <span className="text-xs text-muted">Successful episodes since the last round ended.</span>
        </label>
      )}
      <Trouble error={add.error} />
      <div className="flex justify-end gap-2">
        <button type="button" className="button" onClick={onClose}>
          Not now
        </button>
        <button type="submit" className="button button-main" disabled={add.isPending}>
          {add.isPending ? "Adding…" : "Add"}
        </button>
      </div>
    </form>
  );
}
