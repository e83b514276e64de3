/** From an episode that goes on to the sandbox it works in, for those who may see that. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { sandboxesQuery } from "../api/queries";
import { useMay } from "../shell/access";

export function LiveLink({ trajectory, className = "link" }: { trajectory: string; className?: string }) {
  const may = useMay()("sandboxes:read");
  const { data } = useQuery({ ...sandboxesQuery, enabled: may === true });
  const sandbox = data?.items.find((one) => one.trajectory_id === trajectory);
  if (sandbox === undefined) return null;
  return (
    <Link className={className} to="/sandboxes/$id" params={{ id: sandbox.id }}>
      Watch it live
    </Link>
  );
}
