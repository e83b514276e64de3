/** Short names for what the API sends. */

import type { components } from "./schema.gen";

type Schemas = components["schemas"];

export type Info = Schemas["Info"];
export type Round = Schemas["Round"];
export type RoundSummary = Schemas["RoundSummary"];
export type Phase = Schemas["Phase"];
export type Preset = Schemas["Preset"];
export type RoundForm = Schemas["RoundForm"];
export type Promotion = Schemas["PromotionModel"];
export type Schedule = Schemas["ScheduleModel"];
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
export type Role = Schemas["Role"];
export type User = Schemas["UserModel"];
export type Token = Schemas["TokenModel"];
export type Usage = Schemas["UsageModel"];
export type AuditEntry = Schemas["AuditEntry"];
export type Setting = Schemas["SettingModel"];
export type Policy = Schemas["PolicyModel"];
export type Event = Schemas["EventModel"];
export type ReviewItem = Schemas["ReviewItem"];
export type Proposal = Omit<Schemas["ProposalModel"], "actions"> & { actions: readonly Action[] };
export type LiveSandbox = Schemas["LiveSandbox"];
export type Curves = Schemas["CurvesModel"];
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
export type Suite = Schemas["SuiteModel"];
export type Comparison = Schemas["ComparisonModel"];
export type Job = Schemas["JobModel"];
export type JobOrder = Schemas["FsckOrder"] | Schemas["GcOrder"];
