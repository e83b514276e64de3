/** The places of the page, in the order of the navigation. */

/** `needs`: the scope without which the place is not shown. */
export const PLACES = [
  {
    to: "/",
    label: "Overview",
    needs: "rounds:read",
    sign: <path d="M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z" />,
  },
  {
    to: "/rounds",
    label: "Rounds",
    needs: "rounds:read",
    sign: <path d="M8 2.5a5.5 5.5 0 1 1-5.2 3.7M2.5 2.5v3.8h3.8" />,
  },
  {
    to: "/trajectories",
    label: "Trajectories",
    needs: "trajectories:read",
    sign: <path d="M2 12.5l3.5-5 3.5 2.5 5-7M14 3h-3.4M14 3v3.4" />,
  },
  {
    to: "/tasks",
    label: "Tasks",
    needs: "tasks:read",
    sign: <path d="M2.5 4l1.2 1.2L6 2.8M2.5 10.5l1.2 1.2L6 9.3M8.5 4H14M8.5 10.7H14" />,
  },
  {
    to: "/flywheel",
    label: "Flywheel",
    needs: "datasets:read",
    sign: <path d="M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11M8 6.5v3M6.5 8h3" />,
  },
  {
    to: "/annotate",
    label: "Annotate",
    needs: "annotations:write",
    sign: <path d="M2.5 8.2l2.6 2.6 4-5M10 11.5h4M11.5 8H14M13 4.5h1" />,
  },
  {
    to: "/sandboxes",
    label: "Live",
    needs: "sandboxes:read",
    sign: <path d="M2 3h12v8H2zM6 14h4M8 11v3M7 5.5v3L9.5 7z" />,
  },
  {
    to: "/admin",
    label: "Admin",
    needs: "admin",
    sign: <path d="M8 2l5 2v3.5c0 3-2.1 5.3-5 6.5-2.9-1.2-5-3.5-5-6.5V4zM5.8 8l1.6 1.6L10.4 6.6" />,
  },
] as const;

export type Place = (typeof PLACES)[number];
