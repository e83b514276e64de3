/** What the model was shown for a step and what it said, to the token; fetched when it is opened. */

import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { insideQuery } from "../api/queries";
import { figure } from "../format/numbers";
import { Failed, Loading } from "../parts/Notice";

export function Inside({ id, index }: { id: string; index: number }) {
  const [open, setOpen] = useState(false);
  return (
    <section className="panel min-w-0 overflow-hidden" aria-label="Inside">
      <button
        type="button"
        aria-expanded={open}
        className="flex min-h-9 w-full items-center justify-between gap-3 px-3 py-1.5 text-left hover:bg-raised"
        onClick={() => setOpen(!open)}
      >
        <span className="panel-title">What the model saw and said</span>
        <span aria-hidden className="text-muted">
          {open ? "–" : "+"}
        </span>
      </button>
      {open ? <Loaded id={id} index={index} /> : null}
    </section>
  );
}

function Loaded({ id, index }: { id: string; index: number }) {
  const found = useQuery(insideQuery(id, index));
  const [asIds, setAsIds] = useState(false);
  if (found.isLoadingError) return <Failed error={found.error} again={() => void found.refetch()} />;
  if (!found.data) return <Loading rows={4} label="Loading what the model saw" />;
  const told = found.data;
  const nothing = told.prompt_ids.length === 0 && told.tokens.length === 0;
  return (
    <div className="flex flex-col divide-y divide-line border-t border-line">
      {nothing ? (
        <p className="px-3 py-2.5 text-muted">
          No ids are known of this step: the policy is no model, or one behind an endpoint.
        </p>
      ) : null}
      {told.notes === "" ? null : <Text title="Notes of earlier episodes" text={told.notes} />}
      {told.summary === null ? null : <Text title="Its summary" text={told.summary} />}
      {told.prompt_ids.length > 0 ? (
        <Part
          title={`Memory as the model saw it · ${told.prompt_ids.length} tokens`}
          beside={
            told.prompt === null ? null : (
              <label className="flex items-center gap-1 text-xs text-muted">
                <input
                  type="checkbox"
                  className="accent-accent"
                  checked={asIds}
                  onChange={(event) => setAsIds(event.target.checked)}
                />
                ids
              </label>
            )
          }
        >
          <Block testId="prompt">{told.prompt === null || asIds ? told.prompt_ids.join(" ") : told.prompt}</Block>
          {told.pictures.length > 0 ? (
            <ul className="mt-2 flex gap-2 overflow-x-auto" aria-label="Pictures it was shown">
              {told.pictures.map((picture, order) => (
                <li key={order} className="shrink-0">
                  <a href={picture.url} target="_blank" rel="noreferrer">
                    <img
                      src={picture.url}
                      alt={`Picture ${order + 1} of ${told.pictures.length}`}
                      loading="lazy"
                      className="h-20 w-auto border border-line"
                    />
                  </a>
                </li>
              ))}
            </ul>
          ) : null}
        </Part>
      ) : null}
      {told.tokens.length > 0 ? (
        <Part title={`Reply · ${told.tokens.length} tokens · ${told.finish_reason ?? ""}`}>
          <ol tabIndex={0} className="flex max-h-52 flex-wrap gap-1 overflow-y-auto" data-testid="tokens">
            {told.tokens.map((token, order) => (
              <li
                key={order}
                className="rounded-sm border border-line px-1 font-mono text-xs whitespace-pre"
                title={`id ${token.id}, log-probability ${figure(token.logprob)}`}
                style={{ borderBottomColor: sureness(token.logprob), borderBottomWidth: 2 }}
              >
                {token.text === null ? token.id : token.text.replaceAll("\n", "↵")}
              </li>
            ))}
          </ol>
        </Part>
      ) : null}
      {told.others.length > 0 ? (
        <Part title="Not acted">
          <ol className="flex flex-col gap-1">
            {told.others.map((other, order) => (
              <li key={order} className="font-mono text-xs break-all whitespace-pre-wrap">
                {other.text} <span className="text-muted">{figure(other.rating)}</span>
              </li>
            ))}
          </ol>
        </Part>
      ) : null}
      {told.text_tree === null ? null : <Text title="Accessibility tree" text={told.text_tree} />}
      {told.terminal === null ? null : <Text title="Terminal" text={told.terminal} wrap={false} />}
      {told.output === null ? null : <Text title="Output of the action before" text={told.output} wrap={false} />}
      {told.dialog === null ? null : <Text title="Dialog" text={told.dialog} />}
      {told.repairs.length > 0 ? <Text title="Mended before it was read" text={told.repairs.join(", ")} /> : null}
      {Object.keys(told.cost).length > 0 ? (
        <Text
          title="Counted"
          text={Object.entries(told.cost)
            .map(([name, amount]) => `${name}: ${figure(amount)}`)
            .join("\n")}
        />
      ) : null}
    </div>
  );
}

/** The likelier a token was, the calmer its colour; the figure itself is told on hover. */
function sureness(logprob: number | null): string {
  const share = logprob === null ? 1 : Math.exp(Math.min(logprob, 0));
  return `color-mix(in oklab, var(--good) ${Math.round(share * 100)}%, var(--bad))`;
}

function Part({ title, beside, children }: { title: string; beside?: ReactNode; children: ReactNode }) {
  return (
    <section className="min-w-0 px-3 py-2.5">
      <div className="mb-1 flex items-baseline justify-between gap-2">
        <h3 className="label">{title}</h3>
        {beside}
      </div>
      {children}
    </section>
  );
}

function Text({ title, text, wrap = true }: { title: string; text: string; wrap?: boolean }) {
  return (
    <Part title={title}>
      <Block wrap={wrap}>{text}</Block>
    </Part>
  );
}

function Block({ children, wrap = true, testId }: { children: string; wrap?: boolean; testId?: string }) {
  return (
    <pre
      data-testid={testId}
      className={`max-h-60 overflow-auto font-mono text-xs ${wrap ? "break-words whitespace-pre-wrap" : ""}`}
    >
      {children}
    </pre>
  );
}
