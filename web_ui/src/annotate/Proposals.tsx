/** What policies are about to do in live sandboxes: accepted by a key, or replaced by a click on the screen. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { answer, api } from "../api/client";
import { proposalsQuery } from "../api/queries";
import type { Proposal } from "../api/words";
import { LongText } from "../parts/LongText";
import { written, type Gesture } from "../parts/gestures";
import { Failed, Trouble } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { Pointing } from "../parts/Pointing";
import { marksOf, type Mark } from "../replay/marks";
import { Screen } from "../replay/Screen";
import { useKeys } from "../replay/useKeys";
import { shownAfter, type Shown } from "./showing";

/** What has just taken another's place is not accepted yet: the hand was still at that one. */
const SEEN_MS = 700;

export function Proposals() {
  const waiting = useQuery(proposalsQuery);
  const items = waiting.data?.items;
  const [held, setHeld] = useState<Shown | null>(null);
  const shown = items === undefined ? held : shownAfter(held, items);
  if (shown !== held) setHeld(shown);
  // what somebody is writing stays when one of many polls fails
  if (shown === null && waiting.isError)
    return (
      <div className="panel">
        <Failed error={waiting.error} again={() => void waiting.refetch()} />
      </div>
    );
  if (shown === null) return null;
  const { proposal } = shown;
  const others = items?.filter((each) => each.id !== proposal.id) ?? [];
  const over = items !== undefined && others.length === items.length;
  return (
    <Panel
      title="About to be done"
      beside={
        others.length > 0 ? (
          <select
            aria-label="Which one"
            className="field w-auto max-w-72"
            value={proposal.id}
            onChange={(event) => {
              const chosen = others.find((each) => each.id === event.target.value);
              if (chosen) setHeld({ proposal: chosen, answered: false });
            }}
          >
            {(over ? [proposal, ...others] : items)?.map((each) => (
              <option key={each.id} value={each.id}>
                step {each.step_index}: {each.instruction}
              </option>
            ))}
          </select>
        ) : null
      }
    >
      {over ? (
        <p role="status" className="flex flex-wrap items-center gap-3 border-b border-line px-3 py-2">
          This one is over: somebody else answered, or it was not answered in time.
          <button type="button" className="button" onClick={() => setHeld(shownAfter(null, others))}>
            {others.length > 0 ? "Go on to the next" : "Close"}
          </button>
        </p>
      ) : null}
      <Waiting
        key={proposal.id}
        proposal={proposal}
        over={over}
        onAnswered={() => setHeld((now) => (now?.proposal.id === proposal.id ? { ...now, answered: true } : now))}
      />
    </Panel>
  );
}

function Waiting({
  proposal,
  over,
  onAnswered,
}: {
  proposal: Proposal;
  /** Nobody's to answer any more. */
  over: boolean;
  onAnswered: () => void;
}) {
  /** A policy that says nothing at all leaves it to a person. */
  const yours = proposal.actions.length === 0 && proposal.text === "";
  const client = useQueryClient();
  const [reply, setReply] = useState("");
  const [pointed, setPointed] = useState<Gesture | null>(null);
  const [said, setSaid] = useState("");
  const [reason, setReason] = useState("");
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSeen(true), SEEN_MS);
    return () => clearTimeout(timer);
  }, []);
  const tell = useMutation({
    mutationFn: (verdict: "accepted" | "replaced") =>
      answer(
        api.POST("/v1/proposals/{id}/answer", {
          params: { path: { id: proposal.id } },
          body:
            verdict === "replaced"
              ? { verdict, reply, answer: "", reason }
              : { verdict, reply: "", answer: proposal.asks === null ? "" : said, reason },
        }),
      ),
    onSuccess: () => {
      onAnswered();
      return client.invalidateQueries({ queryKey: ["proposals"] });
    },
  });
  const closed = over || tell.isPending || tell.isSuccess;
  const accept = () => {
    if (!closed && seen && !yours) tell.mutate("accepted");
  };
  useKeys<"accept">(
    accept,
    (key) => (key === "a" ? "accept" : undefined),
  );
  const { marks } = marksOf(proposal.actions, null);
  const own: Mark[] =
    pointed?.kind === "click" ? [{ kind: "hover", order: marks.length, at: pointed.at }] : [];
  return (
    <div className="grid min-w-0 gap-3 p-3 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex h-[22rem] min-w-0 flex-col bg-raised/60 p-2 lg:h-[26rem]">
        <Screen
          image={proposal.image}
          marks={[...marks, ...own]}
          zoom="fit"
          pixelated={proposal.image.width_px < 400}
          alt="What is on the screen now"
          over={
            <Pointing
              size={{ width: proposal.image.width_px, height: proposal.image.height_px }}
              label="Point at what to do in its place"
              wheel="with Alt"
              onGesture={(gesture) => {
                setPointed(gesture);
                setReply(written(gesture));
              }}
            />
          }
        />
      </div>
      <div className="flex min-w-0 flex-col gap-3">
        <LongText text={proposal.instruction} />
        <div>
          <h3 className="label">
            {yours ? "Yours to act" : "The policy wants"}, at step {proposal.step_index}
          </h3>
          {proposal.thought ? (
            <LongText className="text-muted" text={proposal.thought} />
          ) : null}
          <ol className="mt-1">
            {proposal.actions.map((action, order) => (
              <li key={order}>
                <LongText className="font-mono text-xs break-all" testId="proposed" text={action.text} />
              </li>
            ))}
          </ol>
          {proposal.actions.length === 0 && !yours ? (
            <p className="text-muted">Nothing: no action could be read from its reply.</p>
          ) : null}
        </div>
        {yours ? null : (
          <form
            className="flex flex-col gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              accept();
            }}
          >
            {proposal.asks === null ? null : (
              <>
                {proposal.asks === "" ? (
                  <p>It calls its user.</p>
                ) : (
                  <LongText testId="asked" text={proposal.asks} />
                )}
                <label className="flex flex-col gap-1">
                  <span className="label">Answer</span>
                  <input
                    className="field"
                    autoComplete="off"
                    maxLength={1000}
                    placeholder="Left empty, the task's details answer, if they can"
                    value={said}
                    onChange={(event) => setSaid(event.target.value)}
                  />
                </label>
              </>
            )}
            <button type="submit" className="button button-main self-start" disabled={closed || !seen}>
              Accept <kbd className="keycap text-ink">A</kbd>
            </button>
          </form>
        )}
        <form
          className="flex flex-col gap-2 border-t border-line pt-3"
          onSubmit={(event) => {
            event.preventDefault();
            if (!closed && reply.trim() !== "") tell.mutate("replaced");
          }}
        >
          <label className="flex flex-col gap-1">
            <span className="label">
              {yours ? "Point at the screen, or write the action" : "Or do this: point at the screen, or write the action"}
            </span>
            <textarea
              className="field h-16 py-1 font-mono text-xs"
              spellCheck={false}
              placeholder="click(point='<point>40 52</point>')"
              title="A click or a drag on the screen is written here, and the wheel where Alt is held"
              value={reply}
              onChange={(event) => {
                setReply(event.target.value);
                setPointed(null);
              }}
            />
          </label>
          <label className="flex flex-col gap-1">
            <span className="label">Reason</span>
            <input
              className="field"
              autoComplete="off"
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          </label>
          <Trouble error={tell.error} />
          <div className="flex items-center justify-between gap-3">
            <button type="submit" className="button" disabled={closed || reply.trim() === ""}>
              {yours ? "Do this" : "Do this instead"}
            </button>
            {over ? null : <Left untilS={proposal.answer_by_s} then={yours ? "" : "until it has its way"} />}
          </div>
        </form>
        <Link className="link" to="/trajectories/$id" params={{ id: proposal.trajectory_id }}>
          What it did so far
        </Link>
      </div>
    </div>
  );
}

/** Seconds for an answer. */
function Left({ untilS, then }: { untilS: number; then: string }) {
  const [nowS, setNowS] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNowS(Date.now() / 1000), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="text-xs text-muted" role="timer">
      {Math.max(0, Math.ceil(untilS - nowS))} s {then || "left"}
    </span>
  );
}
