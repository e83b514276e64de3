/** The ways between the pages about rounds. */

import { Link } from "@tanstack/react-router";

const PLACES = [
  { to: "/rounds", label: "All" },
  { to: "/rounds/compare", label: "Compare" },
  { to: "/rounds/policy", label: "Promoted policy" },
  { to: "/rounds/schedules", label: "Schedules" },
] as const;

export function RoundsNav() {
  return (
    <nav aria-label="Rounds" className="flex flex-wrap gap-x-3">
      {PLACES.map(({ to, label }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: true, includeSearch: false }}
          className="py-1 text-muted hover:text-ink data-[status=active]:font-semibold data-[status=active]:text-ink"
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
