/** Addresses of the page. What a page shows is in its address, so every view can be linked to. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type ErrorComponentProps,
} from "@tanstack/react-router";

import { readCompared } from "./evaluations/search";
import { readFlywheelSearch } from "./flywheel/search";
import { readCompare } from "./compare/search";
import { Empty, Failed, Loading } from "./parts/Notice";
import { Page } from "./parts/Page";
import { readPlace } from "./replay/place";
import { Shell } from "./shell/Shell";
import { readQueueSearch } from "./tasks/search";
import { readFilter } from "./trajectories/filter";

const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NoSuchPage });

const home = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./overview/OverviewPage"), "OverviewPage"),
});

const flywheel = createRoute({
  getParentRoute: () => rootRoute,
  path: "/flywheel",
  validateSearch: readFlywheelSearch,
  component: lazyRouteComponent(() => import("./flywheel/FlywheelPage"), "FlywheelPage"),
});

const evaluations = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tasks/evaluations",
  validateSearch: readCompared,
  component: lazyRouteComponent(() => import("./evaluations/EvaluationsPage"), "EvaluationsPage"),
});

const rounds = createRoute({
  getParentRoute: () => rootRoute,
  path: "/rounds",
  component: lazyRouteComponent(() => import("./rounds/RoundsPage"), "RoundsPage"),
});

const round = createRoute({
  getParentRoute: () => rootRoute,
  path: "/rounds/$id",
  component: lazyRouteComponent(() => import("./rounds/RoundPage"), "RoundPage"),
});

const trajectories = createRoute({
  getParentRoute: () => rootRoute,
  path: "/trajectories",
  validateSearch: readFilter,
  component: lazyRouteComponent(() => import("./trajectories/TrajectoriesPage"), "TrajectoriesPage"),
});

const replay = createRoute({
  getParentRoute: () => rootRoute,
  path: "/trajectories/$id",
  validateSearch: readPlace,
  component: lazyRouteComponent(() => import("./replay/ReplayPage"), "ReplayPage"),
});

const compare = createRoute({
  getParentRoute: () => rootRoute,
  path: "/compare",
  validateSearch: readCompare,
  component: lazyRouteComponent(() => import("./compare/ComparePage"), "ComparePage"),
});

const tasks = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tasks",
  validateSearch: readQueueSearch,
  component: lazyRouteComponent(() => import("./tasks/TasksPage"), "TasksPage"),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    home,
    rounds,
    round,
    trajectories,
    replay,
    compare,
    tasks,
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

function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="Something broke">
      <Failed error={error} again={reset} />
    </Page>
  );
}
