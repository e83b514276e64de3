/** Tasks one by one, or suites of them: two pages of one place. */

import { Link } from "@tanstack/react-router";

import { May } from "../shell/May";

const LOOK = "button data-[status=active]:bg-raised data-[status=active]:font-semibold";

export function TaskTabs() {
  return (
    <May scope="datasets:read">
      <nav aria-label="Tasks" className="flex gap-1.5">
        <Link to="/tasks" activeOptions={{ exact: true, includeSearch: false }} className={LOOK}>
          Tasks
        </Link>
        <Link to="/tasks/evaluations" className={LOOK}>
          Evaluations
        </Link>
      </nav>
    </May>
  );
}
