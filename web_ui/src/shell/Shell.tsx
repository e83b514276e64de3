/** What every page stands in: navigation, and how the platform is. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { AlarmMark } from "../alarms/AlarmMark";
import { infoQuery } from "../api/queries";
import { Clock } from "../parts/Ago";
import { Empty } from "../parts/Notice";
import { Page } from "../parts/Page";
import { useMay } from "./access";
import { BottomBar } from "./BottomBar";
import { Mark } from "./Mark";
import { PLACES } from "./places";
import { signOut, useSession } from "./session";
import { SignIn, SignInAgain } from "./SignIn";

/** Pages within a place that ask for more than it, or stand in none. */
const PAGES = [
  { to: "/rounds/new", label: "Start a round", needs: "rounds:write" },
  { to: "/tasks/evaluations", label: "Evaluations", needs: "datasets:read" },
  { to: "/compare", label: "Compare", needs: "trajectories:read" },
] as const;

export function Shell() {
  const { standing, visit } = useSession();
  const may = useMay();
  const here = useLocation({ select: (location) => location.pathname });
  if (standing === "out") return <SignIn />;
  const places = PLACES.filter((place) => may(place.needs));
  const within = (to: string) => here === to || (to !== "/" && here.startsWith(`${to}/`));
  const closed = [...PAGES, ...PLACES].find((place) => within(place.to) && may(place.needs) === false);
  return (
    <Clock key={visit}>
      {standing === "lapsed" ? <SignInAgain /> : null}
      <div className="flex min-h-dvh flex-col">
        <a
          href="#content"
          className="button sr-only z-50 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        >
          Skip to content
        </a>
        <header className="sticky top-0 z-30 border-b border-line bg-surface">
          <div className="mx-auto flex h-11 max-w-[90rem] items-center gap-1 px-3 sm:px-5">
            <Link to="/" className="flex items-center gap-2 text-base font-semibold tracking-tight sm:mr-4">
              <Mark />
              <span className="max-sm:sr-only">Deskhand</span>
            </Link>
            <nav aria-label="Main" className="hidden h-full items-stretch sm:flex">
              {places.map((place) => (
                <Place key={place.to} to={place.to}>
                  {place.label}
                </Place>
              ))}
            </nav>
            <div className="ml-auto flex min-w-0 items-center gap-2 sm:gap-4">
              <AlarmMark />
              <Standing />
              <WhoAmI />
              <SignOut />
            </div>
          </div>
        </header>
        <div id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none">
          {closed ? <NotForYou label={closed.label} /> : <Outlet />}
        </div>
        <BottomBar places={places} />
      </div>
    </Clock>
  );
}

function Place({ to, children }: { to: (typeof PLACES)[number]["to"]; children: ReactNode }) {
  return (
    <Link
      to={to}
      activeOptions={{ exact: to === "/" }}
      className="relative flex items-center px-3 text-muted hover:text-ink data-[status=active]:font-semibold data-[status=active]:text-ink data-[status=active]:after:absolute data-[status=active]:after:inset-x-3 data-[status=active]:after:-bottom-px data-[status=active]:after:h-0.5 data-[status=active]:after:bg-accent"
    >
      {children}
    </Link>
  );
}

/** Who is signed in, and the way to their own tokens and password. */
function WhoAmI() {
  const info = useQuery(infoQuery);
  if (!info.data) return null;
  return (
    <Link
      to="/account"
      className="min-w-0 truncate font-medium text-muted hover:text-ink sm:max-w-48"
      title={`Signed in as ${info.data.user}, ${info.data.role}: tokens and password`}
    >
      {info.data.user}
      <span className="font-normal max-sm:hidden"> · {info.data.role}</span>
    </Link>
  );
}

/** The server refuses too: this says so before it has to. */
function NotForYou({ label }: { label: string }) {
  const info = useQuery(infoQuery);
  return (
    <Page title={label}>
      <Empty title="This is not for your role">
        {info.data?.user} has the role {info.data?.role}; an administrator can give another.
      </Empty>
    </Page>
  );
}

function SignOut() {
  const leave = useMutation({ mutationFn: signOut });
  return (
    <button
      type="button"
      className="button button-bare whitespace-nowrap text-muted"
      disabled={leave.isPending}
      title={leave.error?.message}
      onClick={() => leave.mutate()}
    >
      {leave.isError ? "Not signed out: try again" : "Sign out"}
    </button>
  );
}

const HOST = {
  up: { colour: "bg-good", text: "Sandboxes up" },
  starting: { colour: "bg-warn", text: "Sandboxes starting" },
  down: { colour: "bg-bad", text: "Sandboxes down" },
} as const;

function Standing() {
  const info = useQuery(infoQuery);
  const may = useMay();
  if (info.isError) {
    return (
      <span role="status" className="flex items-center gap-2 font-medium text-bad">
        <span aria-hidden className="size-2 rounded-full bg-bad" /> No connection
      </span>
    );
  }
  if (!info.data) return null;
  const host = HOST[info.data.sandbox_host];
  return (
    <div className="flex items-center gap-2 text-muted sm:gap-4">
      {info.data.active_round === null || !may("rounds:read") ? null : (
        <Link
          to="/rounds/$id"
          params={{ id: String(info.data.active_round) }}
          className="link whitespace-nowrap"
        >
          <span className="pulse mr-1.5" aria-hidden>
            ●
          </span>
          Round {info.data.active_round}
          <span className="max-sm:sr-only"> running</span>
        </Link>
      )}
      <span role="status" className="flex items-center gap-2 whitespace-nowrap" title={host.text}>
        <span aria-hidden className={`size-2 rounded-full ${host.colour}`} />
        <span className="sr-only sm:not-sr-only">{host.text}</span>
      </span>
    </div>
  );
}
