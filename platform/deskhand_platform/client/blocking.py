"""The platform for programs that block."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from deskhand_platform.api.models import (
    CatalogTask,
    EventModel,
    Info,
    SubmittedTask,
    TaskPreview,
    TaskSubmission,
)
from deskhand_platform.api.result_models import DeliveryModel, NewWebhook, TaskEvent, WebhookModel
from deskhand_platform.client import calls
from deskhand_platform.client.accounts import Accounts
from deskhand_platform.client.annotations import Annotations
from deskhand_platform.client.errors import InvalidRequest, name_by_place
from deskhand_platform.client.evaluations import Evaluations
from deskhand_platform.client.exchanging import Exchanging
from deskhand_platform.client.flows import until_over
from deskhand_platform.client.flywheel import Flywheel
from deskhand_platform.client.jobs import Jobs
from deskhand_platform.client.live import Live
from deskhand_platform.client.loans import Loans
from deskhand_platform.client.operations import Operations
from deskhand_platform.client.policies import Policies
from deskhand_platform.client.rounds import Rounds
from deskhand_platform.client.trajectories import Trajectories
from deskhand_platform.states import WorkState
from deskhand_platform.webhooks.about import About


class Deskhand(
    Accounts,
    Annotations,
    Evaluations,
    Exchanging,
    Flywheel,
    Jobs,
    Live,
    Loans,
    Operations,
    Policies,
    Rounds,
    Trajectories,
):
    """`AsyncDeskhand` for programs that block: the same calls, the same errors."""

    def info(self) -> Info:
        """Which platform this is, how it stands, and who asks."""
        return self._do(calls.info())

    # ---- tasks ----

    def catalog(self, search: str = "", *, held_out: bool | None = None) -> list[CatalogTask]:
        """The tasks there are; `search` is part of the id, `held_out` those never trained on, or the rest."""
        return self._do(calls.catalog(search, held_out))

    def preview_task(self, task: str | Mapping[str, Any] | TaskSubmission, *, seed: int = 0) -> TaskPreview:
        """A task's instruction and first screen, from a sandbox that is given back; nothing is queued.

        Args:
            task: id of a task of the catalog; or a whole submission, which says the seed itself.
        """
        return self._do(calls.preview(task, seed))

    def submit(
        self,
        task: str | Mapping[str, Any] | TaskSubmission,
        *,
        seed: int = 0,
        policy: str = "scripted",
        settings: Mapping[str, JsonValue] | None = None,
        review_s: float | None = None,
        labels: Mapping[str, str] | None = None,
        priority: int = 0,
        deadline_s: float | None = None,
        key: str | None = None,
    ) -> SubmittedTask:
        """Queue a task.

        Args:
            task: id of a task of the catalog; or a whole submission, which says all the rest itself.
            settings: of the policy.
            deadline_s: Unix time by which it has to be over.
            key: submitted again under it, it is the same task; None: one is made up for this call.
        """
        body = calls.submission(
            task,
            seed=seed,
            policy=policy,
            settings=settings,
            review_s=review_s,
            labels=labels,
            priority=priority,
            deadline_s=deadline_s,
            key=key,
        )
        return self._do(calls.submit(body))

    def submit_batch(
        self,
        tasks: Sequence[Mapping[str, Any] | TaskSubmission],
        progress: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Queue many; their ids, in order. Those of one request, 2,000, are queued together or not at all.

        Args:
            progress: told how many are queued, after each request.
        """
        ids: list[str] = []
        for at in range(0, len(tasks), calls.BATCH):
            bodies = [calls.body_of(task) for task in tasks[at : at + calls.BATCH]]
            try:
                ids += (self._do(calls.submit_batch(bodies))).ids
            except InvalidRequest as error:
                name_by_place(error, lambda number, at=at: f"tasks.{at + number}")
                raise
            if progress is not None:
                progress(len(ids))
        return ids

    def task(self, id: str) -> SubmittedTask:
        """A submitted task as it is now."""
        return self._do(calls.task(id))

    def tasks(
        self,
        *,
        state: WorkState | None = None,
        owner: str | None = None,
        task_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Iterator[SubmittedTask]:
        """Submitted tasks, newest first; an owner's, of a task of the catalog, with all of these labels."""
        return self._every(calls.tasks(state, owner, task_id, labels))

    def wait(self, id: str, timeout_s: float | None = None) -> SubmittedTask:
        """The task when it is over.

        Raises:
            NotOver: the time has passed before; the task goes on.
        """
        return self._follow(until_over(calls.task(id), timeout_s, self._patience))

    def cancel(self, id: str) -> SubmittedTask:
        """Take a waiting task out of the queue, or stop a running one."""
        return self._do(calls.cancel(id))

    def retry(self, id: str) -> SubmittedTask:
        """Queue a task again that failed or was cancelled."""
        return self._do(calls.retry(id))

    def task_events(
        self,
        ids: Sequence[str] = (),
        *,
        labels: Mapping[str, str] | None = None,
        after: int = 0,
        follow: bool = True,
    ) -> Generator[TaskEvent]:
        """Every change of some tasks' state as it happens, earlier ones first; a lost stream is opened anew.

        Args:
            ids: up to 100 submitted tasks; or `labels`: those that have all of them; neither: every task.
            after: the last `event_id` seen.
            follow: False: end when all that is there has come.
        """
        return self._streamed(TaskEvent, calls.task_events(ids, labels, follow), after)

    # ---- webhooks ----

    def add_webhook(
        self,
        url: str,
        *,
        about: About = About.TASKS,
        labels: Mapping[str, str] | None = None,
        states: Sequence[WorkState] | None = None,
    ) -> NewWebhook:
        """Have results of tasks with these labels, or alarms, sent somewhere; its secret is told this once.

        What comes there is read with `deskhand_platform.client.signature.verify`.
        """
        return self._do(calls.add_webhook(url, about, labels, states))

    def webhooks(self) -> list[WebhookModel]:
        """Everybody who is told, newest first."""
        return self._do(calls.webhooks())

    def webhook(self, id: str) -> WebhookModel:
        """One of them."""
        return self._do(calls.webhook(id))

    def remove_webhook(self, id: str) -> WebhookModel:
        """Tell somebody no more."""
        return self._do(calls.remove_webhook(id))

    def deliveries(self, id: str, state: str | None = None) -> Iterator[DeliveryModel]:
        """What a webhook was and is to be told, newest first."""
        return self._every(calls.deliveries(id, state))

    def retry_delivery(self, id: str, delivery_id: str) -> DeliveryModel:
        """Send again what was given up."""
        return self._do(calls.retry_delivery(id, delivery_id))

    # ---- everything else ----

    def events(
        self, subjects: Sequence[str] = (), *, after: int = 0, follow: bool = True
    ) -> Generator[EventModel]:
        """Metrics, states and alarms as they come, about some subjects ("round:3") or about all."""
        return self._streamed(EventModel, calls.events(subjects, follow), after)

    def get(self, path: str, **params: Any) -> Any:
        """GET of a route that has no method here; its answer as plain JSON."""
        return self._do(calls.anything("GET", path, params=params))

    def post(self, path: str, body: Any = None) -> Any:
        """POST to a route that has no method here; never sent again once it may have arrived."""
        return self._do(calls.anything("POST", path, body))

    def put(self, path: str, body: Any = None) -> Any:
        """PUT to a route that has no method here."""
        return self._do(calls.anything("PUT", path, body))

    def delete(self, path: str) -> Any:
        """DELETE of a route that has no method here; never sent again once it may have arrived."""
        return self._do(calls.anything("DELETE", path))
