/** What there is to do, and what has been asked for. */

import { getRouteApi } from "@tanstack/react-router";

import { Page } from "../parts/Page";
import { May } from "../shell/May";
import { Catalog } from "./Catalog";
import { Queue } from "./Queue";
import { SubmitForm } from "./SubmitForm";
import { TaskTabs } from "./TaskTabs";

const route = getRouteApi("/tasks");

export function TasksPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const choose = (task: string) => void navigate({ search: { ...search, task }, replace: true });
  return (
    <Page title="Tasks" actions={<TaskTabs />}>
      <div className="grid items-start gap-3 lg:grid-cols-[minmax(0,5fr)_minmax(0,7fr)]">
        <div className="flex min-w-0 flex-col gap-3 lg:order-2">
          <May scope="tasks:write">
            <SubmitForm taskId={search.task ?? ""} onTask={choose} />
          </May>
          <Queue
            state={search.state}
            onState={(state) => void navigate({ search: { ...search, state }, replace: true })}
          />
        </div>
        <Catalog chosen={search.task ?? null} onChoose={choose} />
      </div>
    </Page>
  );
}
