/** Short names for what the API sends. */

import type { components } from "./schema.gen";

type Schemas = components["schemas"];

export type Info = Schemas["Info"];
export type Round = Schemas["Round"];
export type RoundSummary = Schemas["RoundSummary"];
export type Phase = Schemas["Phase"];
export type Preset = Schemas["Preset"];
export type EvaluationRow = Schemas["EvaluationRow"];
export type Rate = Schemas["Rate"];
export type WorkState = Schemas["WorkState"];
export type CatalogTask = Schemas["CatalogTask"];
export type SubmittedTask = Schemas["SubmittedTask"];
export type TaskSubmission = Schemas["TaskSubmission"];
export type Failure = Schemas["Failure"];
export type OutcomeFilter = Schemas["OutcomeFilter"];
export type TrajectorySummary = Schemas["TrajectorySummary"];
export type TrajectoryDetail = Schemas["TrajectoryDetail"];
/** Points are pairs; the client's types lose that on the way. */
export type Action = Omit<Schemas["ActionModel"], "points"> & { points: readonly (readonly number[])[] };
export type Review = Omit<Schemas["ReviewModel"], "proposed"> & { proposed: readonly Action[] };
export type Step = Omit<Schemas["StepModel"], "actions" | "review"> & {
  actions: readonly Action[];
  review: Review | null;
};
export type ImageRef = Schemas["ImageRef"];
export type Policy = Schemas["PolicyModel"];
export type Event = Schemas["EventModel"];
export type Overview = Schemas["Overview"];
export type Alarm = Schemas["AlarmModel"];
export type Pool = Schemas["PoolModel"];
export type Dataset = Schemas["DatasetModel"];
export type DatasetKind = Schemas["DatasetKind"];
export type RouteOrder = Schemas["RouteOrder"];
export type Routed = Schemas["RoutedModel"];
export type Lineage = Schemas["LineageModel"];
export type Calibration = Schemas["CalibrationModel"];
export type Quality = Schemas["QualityModel"];
export type Scorer = Schemas["ScorerModel"];
export type Evaluation = Schemas["EvaluationModel"];
export type Comparison = Schemas["ComparisonModel"];
