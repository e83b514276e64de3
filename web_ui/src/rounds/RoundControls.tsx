/** What an operator can do with a round: pause, resume, cancel, try a phase again, clone. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { over } from "../api/queries";
import type { Phase, Round } from "../api/words";
import { Confirm, Dialog } from "../parts/Dialog";
import { Trouble } from "../parts/Notice";

export function RoundControls({ round }: { round: Round }) {
  const stopped = over(round.state) || round.state === "paused";
  return (
    <>
      <PauseResume round={round} />
      {stopped && round.phases.length > 0 ? <Retry round={round} /> : null}
      {over(round.state) && round.phases.length === 0 ? <RetryUnbegun round={round} /> : null}
      <Link className="button" to="/rounds/new" search={{ from: round.id }}>
        Clone
      </Link>
      {over(round.state) ? null : <CancelRound round={round} />}
    </>
  );
}

function useChanged() {
  const client = useQueryClient();
  return () => Promise.all(["round", "rounds"].map((key) => client.invalidateQueries({ queryKey: [key] })));
}

function PauseResume({ round }: { round: Round }) {
  const changed = useChanged();
  const path = { params: { path: { id: round.id } } };
  const pause = useMutation({
    mutationFn: () => answer(api.POST("/v1/rounds/{id}/pause", path)),
    onSettled: changed,
  });
  const resume = useMutation({
    mutationFn: () => answer(api.POST("/v1/rounds/{id}/resume", path)),
    onSettled: changed,
  });
  if (over(round.state)) return null;
  const paused = round.state === "paused";
  const act = paused ? resume : pause;
  return (
    <>
      <Trouble error={act.error} />
      <button
        type="button"
        className={`button ${paused ? "button-main" : ""}`}
        disabled={act.isPending || round.pausing || round.cancelling}
        onClick={() => act.mutate()}
      >
        {paused ? "Resume" : round.pausing ? "Pausing…" : "Pause"}
      </button>
    </>
  );
}

function CancelRound({ round }: { round: Round }) {
  const [asking, setAsking] = useState(false);
  const changed = useChanged();
  const cancel = useMutation({
    mutationFn: () => answer(api.POST("/v1/rounds/{id}/cancel", { params: { path: { id: round.id } } })),
    onSuccess: async () => {
      setAsking(false);
      await changed();
    },
  });
  const cancelling = round.cancelling || cancel.isPending;
  return (
    <>
      <button
        type="button"
        className="button button-harm"
        onClick={() => setAsking(true)}
        disabled={cancelling}
      >
        {cancelling ? "Cancelling…" : "Cancel"}
      </button>
      <Confirm
        open={asking}
        onOpen={setAsking}
        title={`Cancel round ${round.id}?`}
        text="Its run stops after the episodes in flight. What it has stored stays, and its phases can be tried again later; to go on soon, pause it."
        action={cancel.isPending ? "Cancelling…" : "Cancel the round"}
        keep="Keep it running"
        busy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
      />
    </>
  );
}

/** Of a round that ended before it had phases: it takes its turn anew. */
function RetryUnbegun({ round }: { round: Round }) {
  const changed = useChanged();
  const retry = useMutation({
    mutationFn: () =>
      answer(api.POST("/v1/rounds/{id}/retry", { params: { path: { id: round.id } }, body: { afresh: false } })),
    onSettled: changed,
  });
  return (
    <>
      <Trouble error={retry.error} />
      <button type="button" className="button" disabled={retry.isPending} onClick={() => retry.mutate()}>
        {retry.isPending ? "Retrying…" : "Retry"}
      </button>
    </>
  );
}

function Retry({ round }: { round: Round }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        Retry from…
      </button>
      <Dialog open={open} onOpen={setOpen} title={`Retry round ${round.id} from a phase`}>
        <RetryForm round={round} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

/** Phases up to the first that is not done: before a later one, that one has to be. */
export function beginnings(phases: readonly Phase[]): readonly Phase[] {
  const undone = phases.findIndex((phase) => phase.state !== "done");
  return undone === -1 ? phases : phases.slice(0, undone + 1);
}

function RetryForm({ round, onClose }: { round: Round; onClose: () => void }) {
  const choices = beginnings(round.phases);
  const [name, setName] = useState(choices.at(-1)?.name ?? "");
  const [afresh, setAfresh] = useState(false);
  const changed = useChanged();
  const chosen = choices.find((phase) => phase.name === name);
  const retry = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/v1/rounds/{id}/retry", {
          params: { path: { id: round.id } },
          body: { phase: name, afresh },
        }),
      ),
    onSuccess: async () => {
      await changed();
      onClose();
    },
  });
  return (
    <form
      className="flex flex-col gap-3 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        retry.mutate();
      }}
    >
      <label className="flex flex-col gap-1">
        <span className="label">Phase</span>
        <select className="field" value={name} onChange={(event) => setName(event.target.value)}>
          {choices.map((phase) => (
            <option key={phase.name} value={phase.name}>
              {phase.name} ({phase.state})
            </option>
          ))}
        </select>
      </label>
      <p className="text-muted">
        {chosen?.state === "done"
          ? `${name} and the phases after it are done anew. What they stored before stays.`
          : `${name} goes on from its checkpoint, and the phases after it follow.`}
      </p>
      {chosen?.state === "done" ? null : (
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={afresh}
            onChange={(event) => setAfresh(event.target.checked)}
          />
          Begin it anew, not at its checkpoint
        </label>
      )}
      <Trouble error={retry.error} />
      <div className="flex justify-end gap-2">
        <button type="button" className="button" onClick={onClose}>
          Not now
        </button>
        <button type="submit" className="button button-main" disabled={retry.isPending}>
          {retry.isPending ? "Retrying…" : `Retry from ${name}`}
        </button>
      </div>
    </form>
  );
}
