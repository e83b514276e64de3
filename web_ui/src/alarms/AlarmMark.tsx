/** How many alarms nobody has seen yet, on every page. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { useMay } from "../shell/access";
import { alarmsQuery } from "./queries";

export function AlarmMark() {
  const may = useMay();
  const alarms = useQuery({ ...alarmsQuery, enabled: may("metrics:read") ?? false });
  const raised = alarms.data?.items.filter((alarm) => alarm.state === "raised").length ?? 0;
  if (raised === 0) return null;
  return (
    <Link to="/" hash="alarms" className="font-semibold whitespace-nowrap text-bad hover:underline">
      <span aria-hidden>▲</span> {raised}
      {alarms.data?.next_cursor ? "+" : ""}{" "}
      <span className="max-sm:sr-only">{raised === 1 ? "alarm" : "alarms"}</span>
    </Link>
  );
}
