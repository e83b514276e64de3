/** One step in words and figures. Everything here that a model or a page wrote is shown as text. */

import type { ReactNode } from "react";

import type { Review, Step, TrajectoryDetail } from "../api/words";
import { figure, percent, signed } from "../format/numbers";
import { milliseconds } from "../format/times";
import { LongText } from "../parts/LongText";
import { stopped } from "../trajectories/stopped";
import { scoreColour, timeShares } from "./strip";

export function StepDetail({ step, scorer }: { step: Step; scorer: string | null }) {
  const score = step.scores.find((one) => one.scorer === scorer);
  return (
    <div className="flex flex-col divide-y divide-line">
      <Part title={step.actions.length > 1 ? "Actions" : "Action"}>
        {step.actions.length === 0 ? (
          <p className="text-muted">None: no action could be read from the reply.</p>
        ) : (
          <ol className="flex flex-col gap-1">
            {step.actions.map((action, order) => (
              <li key={order} className="flex gap-2 font-mono text-xs">
                {step.actions.length > 1 ? <span className="text-muted">{order + 1}</span> : null}
                <LongText className="min-w-0 break-all" text={action.text} />
              </li>
            ))}
          </ol>
        )}
        <Complaint text={step.error} />
        <Complaint text={step.action_error} />
        {step.answer === null ? null : (
          <div className="mt-1.5">
            <span className="text-muted">The user replied: </span>
            <LongText text={step.answer} />
          </div>
        )}
      </Part>
      {step.review === null ? null : <Reviewed review={step.review} />}
      <dl className="grid grid-cols-4 gap-px bg-line">
        <Figure name="Reward" value={signed(step.reward)} strong={step.reward !== 0} />
        <Figure name="Value" value={figure(step.value)} />
        <Figure
          name="Process"
          value={figure(score?.score)}
          mark={
            score ? (
              <span className="size-2 rounded-full" style={{ background: scoreColour(score.score) }} />
            ) : null
          }
        />
        <Figure name="Entropy" value={figure(step.entropy)} />
      </dl>
      {score?.rationale ? <Part title="Why this score"><LongText text={score.rationale} /></Part> : null}
      {step.thought ? (
        <Part title="Thought">
          <LongText className="max-h-60" testId="thought" text={step.thought} />
        </Part>
      ) : null}
      <Part
        title="Reply as sampled"
        beside={
          <span className="text-xs text-muted">
            {step.reply_tokens === null ? "" : `${step.reply_tokens} tokens · `}
            {step.trainable ? "trainable" : "not trainable"}
          </span>
        }
      >
        <pre
          className="max-h-60 overflow-auto font-mono text-xs break-all whitespace-pre-wrap"
          data-testid="raw"
        >
          {step.text === "" ? <span className="text-muted">Empty.</span> : step.text}
        </pre>
      </Part>
      <Part
        title="Time"
        beside={<span className="text-xs">{milliseconds(step.timings.model_ms + step.timings.act_ms)}</span>}
      >
        <Times step={step} />
      </Part>
      {step.url === null ? null : (
        <Part title="Address">
          <LongText className="font-mono text-xs break-all" text={step.url} />
        </Part>
      )}
    </div>
  );
}

/** What stands beside the last screen. */
export function EndDetail({ trajectory }: { trajectory: TrajectoryDetail }) {
  const { success, score, stop_reason, failure } = trajectory;
  return (
    <div className="flex flex-col divide-y divide-line">
      <dl className="grid grid-cols-3 gap-px bg-line">
        <Figure name="Outcome" value={success === null ? "none" : success ? "success" : "failure"} strong />
        <Figure name="Score" value={score === null ? "–" : percent(score, 0)} />
        <Figure name="Stopped" value={stop_reason === null ? "–" : stopped(stop_reason)} />
      </dl>
      {trajectory.outcome_detail === "" ? null : <Part title="Verdict"><LongText className="max-h-60" text={trajectory.outcome_detail} /></Part>}
      {failure === null ? null : (
        <Part title="What broke">
          <p className="font-medium text-bad">{failure.replaceAll("_", " ")}</p>
          <LongText className="max-h-60" text={trajectory.failure_detail} />
        </Part>
      )}
    </div>
  );
}

const VERDICTS: Record<Review["verdict"], string> = {
  accepted: "accepted what the policy wanted",
  replaced: "did this in place of what the policy wanted",
  steered: "had the controls",
  unanswered: "Nobody answered: the policy had its way",
};

/** What a person made of the step before it was carried out. */
function Reviewed({ review }: { review: Review }) {
  return (
    <Part title="Beside a person">
      <p data-testid="review">
        {review.by === null ? null : <span className="font-medium">{review.by} </span>}
        {VERDICTS[review.verdict]}
        {review.reason === "" ? "." : `: ${review.reason}`}
      </p>
      {review.proposed.length > 0 ? (
        <ul aria-label="Proposed" className="mt-1">
          {review.proposed.map((action, order) => (
            <li key={order}>
              <LongText className="font-mono text-xs break-all text-muted line-through" text={action.text} />
            </li>
          ))}
        </ul>
      ) : null}
    </Part>
  );
}

function Part({ title, beside, children }: { title: string; beside?: ReactNode; children: ReactNode }) {
  return (
    <section className="px-3 py-2.5">
      <div className="mb-1 flex items-baseline justify-between gap-2">
        <h3 className="label">{title}</h3>
        {beside}
      </div>
      {children}
    </section>
  );
}

function Figure({
  name,
  value,
  strong = false,
  mark = null,
}: {
  name: string;
  value: string;
  strong?: boolean;
  mark?: ReactNode;
}) {
  return (
    <div className="bg-surface px-3 py-2">
      <dt className="label truncate" title={name}>
        {name}
      </dt>
      <dd className={`flex items-center gap-1.5 text-base ${strong ? "font-semibold" : ""}`}>
        {mark}
        {value}
      </dd>
    </div>
  );
}

function Complaint({ text }: { text: string | null }) {
  if (text === null) return null;
  return <LongText className="mt-1.5 text-bad" text={text} />;
}

const SHADES = ["bg-accent", "bg-ink/60", "bg-faint"];

function Times({ step }: { step: Step }) {
  const parts = timeShares(step.timings);
  return (
    <>
      <div className="flex h-1.5 overflow-hidden rounded-full bg-raised" aria-hidden>
        {parts.map((part, position) => (
          <span key={part.label} className={SHADES[position]} style={{ width: `${part.share * 100}%` }} />
        ))}
      </div>
      <ul className="mt-1.5 flex flex-wrap gap-x-4 text-xs">
        {parts.map((part, position) => (
          <li key={part.label} className="flex items-center gap-1.5">
            <span aria-hidden className={`size-2 rounded-sm ${SHADES[position] ?? ""}`} />
            <span className="text-muted">{part.label}</span> {milliseconds(part.ms)}
          </li>
        ))}
        {step.settled ? null : <li className="text-warn">the screen had not settled</li>}
      </ul>
    </>
  );
}
