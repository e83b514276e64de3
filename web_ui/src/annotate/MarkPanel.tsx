/** What people say of a step, or of the whole episode, and what one says oneself: by mouse or by key. */

import { useMutation, useMutationState, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "../api/client";
import { annotationsQuery, infoQuery, STEPS_A_PAGE } from "../api/queries";
import { percent } from "../format/numbers";
import { Ago } from "../parts/Ago";
import { Confirm } from "../parts/Dialog";
import { Trouble } from "../parts/Notice";
import { useKeys } from "../replay/useKeys";
import { useMay } from "../shell/access";
import { placeOf, unmarked, type Given, type Lost } from "./unmarked";
import { useWritten } from "./written";

type Way = "good" | "bad" | "undo" | "reason";
const KEYS = new Map<string, Way>([
  ["g", "good"],
  ["b", "bad"],
  ["u", "undo"],
  ["r", "reason"],
]);

export function MarkPanel({
  id,
  index,
  ended,
  onMarked,
}: {
  id: string;
  /** The step; null: the whole episode. */
  index: number | null;
  /** Marks are for whole episodes; notes can be written at any time. */
  ended: boolean;
  onMarked?: () => void;
}) {
  const client = useQueryClient();
  const user = useQuery(infoQuery).data?.user;
  const allowed = useMay()("annotations:write") ?? false;
  const said = useQuery(annotationsQuery(id));
  const place = placeOf({ id, index });
  const [reason, setReason] = useWritten(`why ${place}`);
  const [note, setNote] = useWritten(`note ${place}`);
  const marks = said.data?.marks.filter((mark) => mark.step_index === index) ?? [];
  const notes = index === null ? [] : (said.data?.notes.filter((each) => each.step_index === index) ?? []);
  const mine = marks.find((mark) => mark.annotator === user);
  // of a long episode only the page of steps that holds this one
  const stepsKey = ["steps", id, Math.floor((index ?? 0) / STEPS_A_PAGE)];
  const refresh = async () => {
    const keys = [["annotations", id], stepsKey, ["review queue"], ["agreement"], ["curves", id]];
    await Promise.all(
      keys.map(async (queryKey) => {
        // a first answer that is still on its way was written before the mark, and would be taken for the newest
        await client.cancelQueries({ queryKey });
        await client.invalidateQueries({ queryKey });
      }),
    );
  };
  const mark = useMutation({
    mutationKey: MARKING,
    mutationFn: (given: Given) => send(given, user ?? ""),
    onSuccess: (_, { score, why }) => {
      // what was written since has not been sent
      setReason((now) => (now === why ? "" : now));
      void refresh();
      if (score !== null) onMarked?.();
    },
  });
  const write = useMutation({
    mutationFn: (text: string) =>
      answer(
        api.POST("/v1/trajectories/{id}/steps/{index}/notes", {
          params: { path: { id, index: index ?? 0 } },
          body: { text },
        }),
      ),
    onSuccess: (_, text) => {
      setNote((now) => (now === text ? "" : now));
      void refresh();
    },
  });
  const take = useMutation({
    mutationFn: (noteId: string) =>
      answer(api.DELETE("/v1/notes/{id}", { params: { path: { id: noteId } } })),
    onSuccess: () => {
      setTaking(null);
      return refresh();
    },
  });
  const [taking, setTaking] = useState<string | null>(null);
  const give = (score: number | null) => mark.mutate({ id, index, score, why: reason });
  const lost = useUnmarked();
  const here = lost.find(({ given }) => placeOf(given) === place);
  const ready = allowed && ended && user !== undefined && !mark.isPending;
  useKeys<Way>(
    (way) => {
      if (way === "reason") document.getElementById("reason")?.focus();
      else if (ready && (way !== "undo" || mine)) give(way === "undo" ? null : way === "good" ? 1 : 0);
    },
    (key) => KEYS.get(key),
  );
  return (
    <section className="panel min-w-0" aria-label="Marks and notes">
      <div className="flex min-h-9 items-center justify-between gap-3 border-b border-line px-3 py-1.5">
        <h2 className="panel-title">{index === null ? "The whole episode" : `Marks of step ${index}`}</h2>
        {ended || !allowed ? null : <span className="text-xs text-muted">marked when it has ended</span>}
      </div>
      <div className="flex flex-col gap-2 p-3">
        {allowed ? (
          <>
            <div className="flex flex-wrap gap-2">
              <Choice keyName="G" chosen={mine?.score === 1} disabled={!ready} onClick={() => give(1)}>
                <span className="text-good">✓</span> Good
              </Choice>
              <Choice keyName="B" chosen={mine?.score === 0} disabled={!ready} onClick={() => give(0)}>
                <span className="text-bad">✕</span> Bad
              </Choice>
              <button
                type="button"
                className="button button-bare"
                disabled={!ready || !mine}
                onClick={() => give(null)}
              >
                Take back <kbd className="keycap">U</kbd>
              </button>
            </div>
            <label className="flex flex-col gap-1">
              <span className="label">
                Why <kbd className="keycap">R</kbd>, goes with the mark
              </span>
              <input
                id="reason"
                className="field"
                maxLength={10_000}
                autoComplete="off"
                value={reason}
                onChange={(event) => setReason(() => event.target.value)}
                onKeyDown={(event) => {
                  // back to the keys: what is written stays until a mark takes it along
                  if (event.key === "Enter" || event.key === "Escape") event.currentTarget.blur();
                }}
              />
            </label>
          </>
        ) : said.data && marks.length === 0 && notes.length === 0 ? (
          <p className="text-muted">Nobody has marked or noted anything here.</p>
        ) : null}
        <Trouble error={here?.error ?? said.error ?? write.error ?? take.error} />
        {lost.map((one) => (one === here ? null : <Elsewhere key={placeOf(one.given)} one={one} id={id} />))}
        {marks.length > 0 ? (
          <ul aria-label="Marks" className="flex flex-col gap-1">
            {marks.map((each) => (
              <li key={each.annotator} className="min-w-0 break-words">
                <span className={each.score >= 0.5 ? "text-good" : "text-bad"} aria-hidden>
                  {each.score >= 0.5 ? "✓" : "✕"}
                </span>{" "}
                <span className="font-medium">{each.annotator}</span>{" "}
                <span className="text-muted">
                  {each.score === 1 ? "good" : each.score === 0 ? "bad" : percent(each.score, 0)}
                </span>
                {each.reason === "" ? null : `: ${each.reason}`}
              </li>
            ))}
          </ul>
        ) : null}
        {index === null || !allowed ? null : (
          <form
            className="flex gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              if (note.trim() !== "" && !write.isPending) write.mutate(note);
            }}
          >
            <input
              aria-label="Note"
              placeholder="Note on this step"
              className="field"
              maxLength={10_000}
              autoComplete="off"
              value={note}
              onChange={(event) => setNote(() => event.target.value)}
            />
            <button type="submit" className="button" disabled={write.isPending || note.trim() === ""}>
              Add
            </button>
          </form>
        )}
        {notes.length > 0 ? (
          <ul aria-label="Notes" className="flex flex-col gap-1.5">
            {notes.map((each) => (
              <li key={each.id} className="flex min-w-0 items-start gap-2">
                <p className="min-w-0 flex-1 break-words whitespace-pre-wrap">
                  <span className="font-medium">{each.author}</span>{" "}
                  <span className="text-xs text-muted">
                    <Ago atS={each.created_at_s} />
                  </span>
                  <br />
                  {each.text}
                </p>
                {allowed && each.author === user ? (
                  <button
                    type="button"
                    className="button button-bare"
                    aria-label="Take the note back"
                    onClick={() => setTaking(each.id)}
                  >
                    ✕
                  </button>
                ) : null}
              </li>
            ))}
          </ul>
        ) : null}
        <Confirm
          open={taking !== null}
          onOpen={(open) => setTaking(open ? taking : null)}
          title="Take this note back?"
          text="It is gone for everybody."
          action="Take it back"
          keep="Keep it"
          busy={take.isPending}
          error={take.error}
          onConfirm={() => taking !== null && take.mutate(taking)}
        />
      </div>
    </section>
  );
}

const MARKING = ["mark"] as const;

function useUnmarked() {
  const sent = useMutationState({
    filters: { mutationKey: MARKING },
    select: ({ state }) => ({ given: state.variables as Given | undefined, error: state.error }),
  });
  return unmarked(sent);
}

/** A mark that failed after its step was left. */
function Elsewhere({ one: { given, error }, id }: { one: Lost; id: string }) {
  const { index } = given;
  return (
    <p role="alert" className="text-sm text-bad">
      The mark of {index === null ? "the whole episode" : `step ${index}`}
      {given.id === id ? null : (
        <>
          {" of "}
          <Link className="link" to="/trajectories/$id" params={{ id: given.id }} search={{ step: index ?? "end" }}>
            another episode
          </Link>
        </>
      )}{" "}
      is not kept: {error.message}
    </p>
  );
}

function Choice({
  keyName,
  chosen,
  disabled,
  onClick,
  children,
}: {
  keyName: string;
  chosen: boolean;
  disabled: boolean;
  onClick: () => void;
  children: React.ReactNode;
}) {
  return (
    <button
      type="button"
      aria-pressed={chosen}
      className={`button ${chosen ? "border-accent bg-raised" : ""}`}
      disabled={disabled}
      onClick={onClick}
    >
      {children} <kbd className="keycap">{keyName}</kbd>
    </button>
  );
}

async function send({ id, index, score, why: reason }: Given, annotator: string) {
  const body = { score: score ?? 0, reason };
  if (index === null) {
    const params = { path: { id, annotator } };
    if (score === null) await answer(api.DELETE("/v1/trajectories/{id}/marks/{annotator}", { params }));
    else await answer(api.PUT("/v1/trajectories/{id}/marks/{annotator}", { params, body }));
    return;
  }
  const params = { path: { id, index, annotator } };
  if (score === null)
    await answer(api.DELETE("/v1/trajectories/{id}/steps/{index}/marks/{annotator}", { params }));
  else await answer(api.PUT("/v1/trajectories/{id}/steps/{index}/marks/{annotator}", { params, body }));
}
