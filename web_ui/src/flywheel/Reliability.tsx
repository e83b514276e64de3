/** How far a process reward model's scores can be taken at their word: the reliability diagram. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Calibration, Quality } from "../api/words";
import { counted, figure } from "../format/numbers";
import { Empty, Failed, Loading } from "../parts/Notice";
import { Panel } from "../parts/Page";
import { calibrationsQuery } from "./queries";

const SIDE = 220;
const EDGE = 34;
const TICKS = [0, 0.5, 1];

export function Reliability() {
  const models = useQuery(calibrationsQuery);
  const [chosen, setChosen] = useState("");
  const model = models.data?.find((one) => one.policy_id === chosen) ?? models.data?.[0];
  return (
    <Panel
      title="Process model"
      beside={
        (models.data?.length ?? 0) > 1 ? (
          <select
            aria-label="Process model"
            className="field h-7 w-56"
            value={model?.policy_id ?? ""}
            onChange={(event) => setChosen(event.target.value)}
          >
            {models.data?.map((one) => (
              <option key={one.policy_id} value={one.policy_id}>
                {one.scorer}
              </option>
            ))}
          </select>
        ) : null
      }
    >
      {models.isLoadingError ? (
        <Failed error={models.error} again={() => void models.refetch()} />
      ) : models.isPending ? (
        <Loading rows={4} label="Loading process models" />
      ) : model === undefined ? (
        <Empty title="No model is calibrated yet">
          <code className="font-mono text-xs">deskhand prm calibrate MODEL</code> says how far its scores can
          be taken at their word, and keeps that.
        </Empty>
      ) : (
        <Diagram model={model} />
      )}
    </Panel>
  );
}

function Diagram({ model }: { model: Calibration }) {
  return (
    <div className="flex flex-wrap items-center gap-x-6 gap-y-3 p-3">
      <svg
        width={SIDE + EDGE + 8}
        height={SIDE + EDGE + 8}
        viewBox={`${-EDGE} -8 ${SIDE + EDGE + 8} ${SIDE + EDGE + 8}`}
        role="img"
        aria-label={`Reliability of ${model.scorer}, before and after calibration`}
        data-testid="reliability"
      >
        <rect width={SIDE} height={SIDE} fill="none" stroke="var(--line)" />
        <line x1="0" y1={SIDE} x2={SIDE} y2="0" stroke="var(--faint)" strokeDasharray="4 4" />
        {TICKS.map((tick) => (
          <g key={tick} fontSize="11" fill="var(--muted)">
            <text x={tick * SIDE} y={SIDE + 15} textAnchor="middle">
              {tick}
            </text>
            <text x="-6" y={SIDE - tick * SIDE + 4} textAnchor="end">
              {tick}
            </text>
          </g>
        ))}
        <text x={SIDE / 2} y={SIDE + 29} textAnchor="middle" fontSize="11" fill="var(--muted)">
          score
        </text>
        <text
          transform={`translate(-24 ${SIDE / 2}) rotate(-90)`}
          textAnchor="middle"
          fontSize="11"
          fill="var(--muted)"
        >
          label
        </text>
        <Points quality={model.before} colour="var(--muted)" />
        <Points quality={model.after} colour="var(--accent)" />
      </svg>
      <table className="text-left" aria-label="Quality of the scores">
        <thead>
          <tr className="text-xs text-muted">
            <th scope="col" className="pr-4 font-medium">
              <span className="sr-only">Figure</span>
            </th>
            <th scope="col" className="px-3 text-right font-medium">
              before
            </th>
            <th scope="col" className="px-3 text-right font-medium text-accent">
              calibrated
            </th>
          </tr>
        </thead>
        <tbody>
          <Line name="AUC" before={model.before.auc} after={model.after.auc} />
          <Line
            name="Calibration error"
            before={model.before.calibration_error}
            after={model.after.calibration_error}
          />
          <Line name="Brier score" before={model.before.brier} after={model.after.brier} />
        </tbody>
        <caption className="caption-bottom pt-2 text-left text-xs text-muted">
          {counted(model.after.steps, "step")} of {model.measured_on}
          {model.kappa === null
            ? ""
            : `; κ with people ${figure(model.kappa)} on ${counted(model.marked, "step")}`}
        </caption>
      </table>
    </div>
  );
}

function Line({ name, before, after }: { name: string; before: number | null; after: number | null }) {
  return (
    <tr>
      <th scope="row" className="pr-4 font-normal">
        {name}
      </th>
      <td className="px-3 py-0.5 text-right text-muted">{figure(before)}</td>
      <td className="px-3 py-0.5 text-right font-semibold">{figure(after)}</td>
    </tr>
  );
}

function Points({ quality, colour }: { quality: Quality; colour: string }) {
  const most = Math.max(1, ...quality.bins.map((bin) => bin.count));
  const at = (bin: Quality["bins"][number]) => [bin.mean_score * SIDE, (1 - bin.mean_label) * SIDE] as const;
  return (
    <g fill={colour} stroke={colour}>
      <polyline
        fill="none"
        strokeWidth="1.5"
        points={quality.bins.map((bin) => at(bin).join(",")).join(" ")}
      />
      {quality.bins.map((bin) => (
        <circle
          key={bin.mean_score}
          cx={at(bin)[0]}
          cy={at(bin)[1]}
          r={2.5 + 4 * Math.sqrt(bin.count / most)}
          fillOpacity="0.55"
        >
          <title>{`${bin.count} steps: said ${figure(bin.mean_score)}, were ${figure(bin.mean_label)}`}</title>
        </circle>
      ))}
    </g>
  );
}
