/** Addresses of the page. What a page shows is in its address, so every view can be linked to. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  redirect,
  type ErrorComponentProps,
} from "@tanstack/react-router";
import { useEffect } from "react";

import { readAdmin } from "./admin/search";
import { ApiError } from "./api/client";
import { infoQuery } from "./api/queries";
import { readCompared } from "./evaluations/search";
import { readFlywheelSearch } from "./flywheel/search";
import { readCompare } from "./compare/search";
import { Empty, Failed, Loading } from "./parts/Notice";
import { Page } from "./parts/Page";
import { readCompareRounds } from "./rounds/comparing";
import { readNewRound } from "./rounds/form/search";
import { askAhead } from "./replay/ahead";
import { readPlace } from "./replay/place";
import { answers, lazyPage } from "./shell/lazy";
import { queryClient } from "./shell/session";
import { Shell } from "./shell/Shell";
import { readQueueSearch } from "./tasks/search";
import { readFilter } from "./trajectories/filter";

const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NoSuchPage });

const home = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  beforeLoad: async () => {
    // who is not signed in yet stays: the shell asks them to, and this is looked at again
    const info = await queryClient.query({ ...infoQuery, staleTime: "static" }).catch(() => null);
    if (info === null || info.scopes.includes("rounds:read")) return;
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- how this router is told to go elsewhere
    throw redirect({ to: "/tasks" });
  },
  component: lazyPage(() => import("./overview/OverviewPage"), "OverviewPage"),
});

const flywheel = createRoute({
  getParentRoute: () => rootRoute,
  path: "/flywheel",
  validateSearch: readFlywheelSearch,
  component: lazyPage(() => import("./flywheel/FlywheelPage"), "FlywheelPage"),
});

const evaluations = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tasks/evaluations",
  validateSearch: readCompared,
  component: lazyPage(() => import("./evaluations/EvaluationsPage"), "EvaluationsPage"),
});

const rounds = createRoute({
  getParentRoute: () => rootRoute,
  path: "/rounds",
  component: lazyPage(() => import("./rounds/RoundsPage"), "RoundsPage"),
});

const round = createRoute({
  getParentRoute: () => rootRoute,
  path: "/rounds/$id",
  component: lazyPage(() => import("./rounds/RoundPage"), "RoundPage"),
});

const compareRounds = createRoute({
  getParentRoute: () => rootRoute,
  path: "/rounds/compare",
  validateSearch: readCompareRounds,
  component: lazyPage(() => import("./rounds/CompareRoundsPage"), "CompareRoundsPage"),
});

const promoted = createRoute({
  getParentRoute: () => rootRoute,
  path: "/rounds/policy",
  component: lazyPage(() => import("./rounds/PromotedPage"), "PromotedPage"),
});

const schedules = createRoute({
  getParentRoute: () => rootRoute,
  path: "/rounds/schedules",
  component: lazyPage(() => import("./rounds/SchedulesPage"), "SchedulesPage"),
});

const newRound = createRoute({
  getParentRoute: () => rootRoute,
  path: "/rounds/new",
  validateSearch: readNewRound,
  component: lazyPage(() => import("./rounds/form/NewRoundPage"), "NewRoundPage"),
});

const trajectories = createRoute({
  getParentRoute: () => rootRoute,
  path: "/trajectories",
  validateSearch: readFilter,
  component: lazyPage(() => import("./trajectories/TrajectoriesPage"), "TrajectoriesPage"),
});

const replay = createRoute({
  getParentRoute: () => rootRoute,
  path: "/trajectories/$id",
  validateSearch: readPlace,
  loader: ({ params, location }) => {
    askAhead(params.id, readPlace(location.search));
  },
  // another step of the same episode is not another episode
  shouldReload: false,
  component: lazyPage(() => import("./replay/ReplayPage"), "ReplayPage"),
});

const compare = createRoute({
  getParentRoute: () => rootRoute,
  path: "/compare",
  validateSearch: readCompare,
  component: lazyPage(() => import("./compare/ComparePage"), "ComparePage"),
});

const tasks = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tasks",
  validateSearch: readQueueSearch,
  component: lazyPage(() => import("./tasks/TasksPage"), "TasksPage"),
});

const annotate = createRoute({
  getParentRoute: () => rootRoute,
  path: "/annotate",
  component: lazyPage(() => import("./annotate/AnnotatePage"), "AnnotatePage"),
});

const sandboxes = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sandboxes",
  component: lazyPage(() => import("./sandboxes/SandboxesPage"), "SandboxesPage"),
});

const sandbox = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sandboxes/$id",
  component: lazyPage(() => import("./sandboxes/SandboxPage"), "SandboxPage"),
});

const account = createRoute({
  getParentRoute: () => rootRoute,
  path: "/account",
  component: lazyPage(() => import("./account/AccountPage"), "AccountPage"),
});

const admin = createRoute({
  getParentRoute: () => rootRoute,
  path: "/admin",
  validateSearch: readAdmin,
  component: lazyPage(() => import("./admin/AdminPage"), "AdminPage"),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    home,
    rounds,
    newRound,
    compareRounds,
    promoted,
    schedules,
    round,
    trajectories,
    replay,
    compare,
    tasks,
    annotate,
    sandboxes,
    sandbox,
    account,
    admin,
    evaluations,
    flywheel,
  ]),
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: Broken,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function NoSuchPage() {
  return (
    <Page title="Not found">
      <Empty title="There is no such page">Choose one above.</Empty>
    </Page>
  );
}

/** How often it is asked whether a platform that did not answer is back. */
const BACK_MS = 3000;

function Broken({ error, reset }: ErrorComponentProps) {
  const unreached = error instanceof ApiError && error.status === 0;
  const again = () => void answers().then((up) => (up ? window.location.reload() : reset()));
  useEffect(() => {
    if (!unreached) return undefined;
    const asking = setInterval(() => void answers().then((up) => up && window.location.reload()), BACK_MS);
    return () => clearInterval(asking);
  }, [unreached]);
  return (
    <Page title="Something broke">
      <Failed error={error} again={again} />
    </Page>
  );
}
