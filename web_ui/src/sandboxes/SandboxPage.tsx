/** One sandbox live: its screen as it changes, and its controls where a submitted task works in it. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useRef, useState, type RefObject } from "react";

import { answer, api } from "../api/client";
import { gone } from "../api/polling";
import { infoQuery, sandboxQuery, trajectoryQuery } from "../api/queries";
import type { LiveSandbox } from "../api/words";
import { counted } from "../format/numbers";
import { span } from "../format/times";
import { LongText } from "../parts/LongText";
import { Empty, Failed, Loading, Trouble } from "../parts/Notice";
import { Page, Panel } from "../parts/Page";
import { PolicyName } from "../parts/PolicyName";
import { useMay } from "../shell/access";
import { May } from "../shell/May";
import { OutcomeMark } from "../trajectories/OutcomeMark";
import { LiveScreen } from "./LiveScreen";
import { useSteering, type Steering } from "./useSteering";

const route = getRouteApi("/sandboxes/$id");
const RENEW_MS = 5000;

export function SandboxPage() {
  const { id } = route.useParams();
  const found = useQuery(sandboxQuery(id));
  const [last, setLast] = useState<LiveSandbox | null>(null);
  if (found.data && found.data !== last) setLast(found.data);
  if (gone(found.error))
    return (
      <Page title="Live">
        <div className="panel">
          <Empty title="This sandbox was given back">
            {last?.trajectory_id ? (
              <Link className="link" to="/trajectories/$id" params={{ id: last.trajectory_id }}>
                Replay what happened in it
              </Link>
            ) : (
              <Link className="link" to="/sandboxes">
                See what runs now
              </Link>
            )}
          </Empty>
        </div>
      </Page>
    );
  const answering = found.error === null && found.failureReason === null;
  if (found.data) return <Live key={id} one={found.data} answering={answering} error={found.error} />;
  return (
    <Page title="Live">
      <div className="panel">
        {found.isError ? (
          <Failed error={found.error} again={() => void found.refetch()} />
        ) : (
          <Loading rows={8} label="Loading the sandbox" />
        )}
      </div>
    </Page>
  );
}

function Live({ one, answering, error }: { one: LiveSandbox; answering: boolean; error: Error | null }) {
  const user = useQuery(infoQuery).data?.user;
  const may = useMay()("annotations:write") ?? false;
  const mine = may && one.taken_by !== null && one.taken_by === user;
  const back = useRef<HTMLButtonElement>(null);
  const steering = useSteering(one.trajectory_id, mine, () => back.current?.focus());
  return (
    <Page
      title={one.task_id ?? `${one.kind} sandbox`}
      beside={
        <span className="text-muted">
          {one.kind} · {span(one.age_s)}
        </span>
      }
      actions={
        one.trajectory_id ? (
          <Controls one={one} id={one.trajectory_id} mine={mine} button={back} settled={steering.settled} />
        ) : null
      }
    >
      <Trouble error={error} />
      <div className="grid min-h-0 items-start gap-3 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <section className={`panel flex min-w-0 flex-col ${mine ? "border-accent" : ""}`} aria-label="Screen">
          <LiveScreen one={one} answering={answering} steering={mine ? steering : null} />
        </section>
        <div className="flex min-w-0 flex-col gap-3">
          {mine ? <Steered steering={steering} /> : null}
          {one.trajectory_id ? <Working id={one.trajectory_id} /> : <Elsewhere owner={one.owner} />}
        </div>
      </div>
    </Page>
  );
}

interface ControlsProps {
  one: LiveSandbox;
  id: string;
  mine: boolean;
  button: RefObject<HTMLButtonElement | null>;
  settled: () => Promise<void>;
}

function Controls({ one, id, mine, button, settled }: ControlsProps) {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: ["sandbox", one.id] });
  const params = { path: { id } };
  const held = `${one.taken_by} has the controls`;
  const take = useMutation({
    mutationFn: () => answer(api.PUT("/v1/trajectories/{id}/takeover", { params })),
    onSettled: refresh,
  });
  const back = useMutation({
    mutationFn: async () => {
      await settled();
      return answer(api.DELETE("/v1/trajectories/{id}/takeover", { params }));
    },
    onSettled: refresh,
  });
  const renew = take.mutate;
  useEffect(() => {
    if (!mine) return;
    const timer = setInterval(() => renew(), RENEW_MS);
    return () => clearInterval(timer);
  }, [mine, renew]);
  return (
    <>
      <Trouble error={take.error ?? back.error} />
      {mine ? (
        <button
          ref={button}
          type="button"
          className="button button-main"
          disabled={back.isPending}
          onClick={() => back.mutate()}
        >
          Hand back
        </button>
      ) : (
        <May
          scope="annotations:write"
          otherwise={one.taken_by === null ? null : <span className="text-muted">{held}</span>}
        >
          <button
            type="button"
            className="button button-main"
            disabled={take.isPending || one.taken_by !== null}
            onClick={() => take.mutate()}
          >
            {one.taken_by === null ? "Take over" : held}
          </button>
        </May>
      )}
    </>
  );
}

const SIGNS = { waiting: "…", sent: "✓", refused: "✕" } as const;

function Steered({ steering }: { steering: Steering }) {
  return (
    <Panel title="You have the controls">
      <div className="flex flex-col gap-2 p-3">
        <p className="text-muted">
          <span className="pointer-coarse:hidden">
            Click, drag and turn the wheel on the screen, and type: keys go there unless you are in a field, and
            Shift + Esc leaves the screen.
          </span>
          <span className="hidden pointer-coarse:inline">Tap and drag on the screen, and type below.</span> Every
          action is a turn of the recorded episode.
        </p>
        <Keyboard act={steering.act} />
        <Line
          label="An action in the agent’s words"
          placeholder="finished(content='')"
          action="Do"
          mono
          onLine={(line) => {
            if (line.trim() !== "") steering.say(line);
          }}
        />
        <ol tabIndex={0} className="flex max-h-40 flex-col gap-0.5 overflow-y-auto" aria-label="What you did">
          {steering.done.map((each) => (
            <li key={each.number} className="font-mono text-xs break-all">
              <span className={each.state === "refused" ? "text-bad" : "text-muted"} aria-label={each.state}>
                {SIGNS[each.state]}
              </span>{" "}
              {each.reply}
              <Trouble error={each.error} />
            </li>
          ))}
        </ol>
      </div>
    </Panel>
  );
}

const KEYS = ["Enter", "Tab", "Backspace", "Escape"] as const;

/** For who has no keyboard: a phone raises its own over a field alone. */
function Keyboard({ act }: { act: Steering["act"] }) {
  return (
    <div className="hidden flex-col gap-2 pointer-coarse:flex">
      <Line
        label="Text to type on the screen"
        placeholder="Text to type"
        action="Type"
        onLine={(text) => {
          if (text !== "") act({ kind: "text", text });
        }}
      />
      <div className="flex flex-wrap gap-2">
        {KEYS.map((key) => (
          <button key={key} type="button" className="button" onClick={() => act({ kind: "keys", keys: [key] })}>
            {key}
          </button>
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  label: string;
  placeholder: string;
  action: string;
  mono?: boolean;
  onLine: (line: string) => void;
}

/** One line that is written and sent, and makes room for the next. */
function Line({ label, placeholder, action, mono = false, onLine }: LineProps) {
  const [line, setLine] = useState("");
  return (
    <form
      className="flex gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        onLine(line);
        setLine("");
      }}
    >
      <input
        aria-label={label}
        placeholder={placeholder}
        className={mono ? "field font-mono text-xs" : "field"}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={line}
        onChange={(event) => setLine(event.target.value)}
      />
      <button type="submit" className="button">
        {action}
      </button>
    </form>
  );
}

function Working({ id }: { id: string }) {
  const found = useQuery(trajectoryQuery(id, { awaited: true }));
  if (!found.data)
    return (
      <Panel title="Episode">
        {found.isError ? <p className="p-3 text-muted">It has not begun yet.</p> : <Loading rows={3} />}
      </Panel>
    );
  const { instruction, policy_id, turns } = found.data;
  return (
    <Panel title="Episode">
      <div className="flex flex-col gap-1.5 p-3">
        <LongText testId="instruction" text={instruction} />
        <p className="text-muted">
          <PolicyName id={policy_id} /> · {counted(turns, "turn")} <OutcomeMark trajectory={found.data} />
        </p>
        <Link className="link" to="/trajectories/$id" params={{ id }} search={{ step: Math.max(turns - 1, 0) }}>
          What it did so far
        </Link>
      </div>
    </Panel>
  );
}

function Elsewhere({ owner }: { owner: string }) {
  return (
    <Panel title="Run">
      <p className="p-3 text-muted">
        <span className="font-mono text-xs">{owner}</span> works in it. Only episodes of submitted tasks can be
        taken over.
      </p>
    </Panel>
  );
}
