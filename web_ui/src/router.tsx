/** Addresses of the page. What a page shows is in its address, so every view can be linked to. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type ErrorComponentProps,
} from "@tanstack/react-router";

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
  beforeLoad: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- how this router is told to go elsewhere
    throw redirect({ to: "/rounds" });
  },
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

const annotate = createRoute({
  getParentRoute: () => rootRoute,
  path: "/annotate",
  component: lazyRouteComponent(() => import("./annotate/AnnotatePage"), "AnnotatePage"),
});

const sandboxes = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sandboxes",
  component: lazyRouteComponent(() => import("./sandboxes/SandboxesPage"), "SandboxesPage"),
});

const sandbox = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sandboxes/$id",
  component: lazyRouteComponent(() => import("./sandboxes/SandboxPage"), "SandboxPage"),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([home, rounds, round, trajectories, replay, compare, tasks, annotate, sandboxes, sandbox]),
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
