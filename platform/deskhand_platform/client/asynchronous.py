"""The platform for programs that await."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
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
from deskhand_platform.client.accounts import AsyncAccounts
from deskhand_platform.client.annotations import AsyncAnnotations
from deskhand_platform.client.errors import InvalidRequest, name_by_place
from deskhand_platform.client.evaluations import AsyncEvaluations
from deskhand_platform.client.exchanging import AsyncExchanging
from deskhand_platform.client.flows import until_over
from deskhand_platform.client.flywheel import AsyncFlywheel
from deskhand_platform.client.jobs import AsyncJobs
from deskhand_platform.client.live import AsyncLive
from deskhand_platform.client.loans import AsyncLoans
from deskhand_platform.client.operations import AsyncOperations
from deskhand_platform.client.policies import AsyncPolicies
from deskhand_platform.client.rounds import AsyncRounds
from deskhand_platform.client.trajectories import AsyncTrajectories
from deskhand_platform.states import WorkState
from deskhand_platform.webhooks.about import About


class AsyncDeskhand(
    AsyncAccounts,
    AsyncAnnotations,
    AsyncEvaluations,
    AsyncExchanging,
    AsyncFlywheel,
    AsyncJobs,
    AsyncLive,
    AsyncLoans,
    AsyncOperations,
    AsyncPolicies,
    AsyncRounds,
    AsyncTrajectories,
):
    """A platform, on this machine or another; `Deskhand` is the same for programs that block.

    Every call is sent again, after the pause the platform asks for or a growing one, where the platform had
    no room for it (429, 503) or the connection broke off and sending it twice does no harm.

    Every call raises `Unreachable` or one of the kinds of `ApiError`; see `deskhand_platform.client.errors`.
    """

    async def info(self) -> Info:
        """Which platform this is, how it stands, and who asks."""
        return await self._do(calls.info())

    # ---- tasks ----

    async def catalog(self, search: str = "", *, held_out: bool | None = None) -> list[CatalogTask]:
        """The tasks there are; `search` is part of the id, `held_out` those never trained on, or the rest."""
        return await self._do(calls.catalog(search, held_out))

    async def preview_task(
        self, task: str | Mapping[str, Any] | TaskSubmission, *, seed: int = 0
    ) -> TaskPreview:
        """A task's instruction and first screen, from a sandbox that is given back; nothing is queued.

        Args:
            task: id of a task of the catalog; or a whole submission, which says the seed itself.
        """
        return await self._do(calls.preview(task, seed))

    async def submit(
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
        return await self._do(calls.submit(body))

    async def submit_batch(
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
                ids += (await self._do(calls.submit_batch(bodies))).ids
            except InvalidRequest as error:
                name_by_place(error, lambda number, at=at: f"tasks.{at + number}")
                raise
            if progress is not None:
                progress(len(ids))
        return ids

    async def task(self, id: str) -> SubmittedTask:
        """A submitted task as it is now."""
        return await self._do(calls.task(id))

    def tasks(
        self,
        *,
        state: WorkState | None = None,
        owner: str | None = None,
        task_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> AsyncIterator[SubmittedTask]:
        """Submitted tasks, newest first; an owner's, of a task of the catalog, with all of these labels."""
        return self._every(calls.tasks(state, owner, task_id, labels))

    async def wait(self, id: str, timeout_s: float | None = None) -> SubmittedTask:
        """The task when it is over.

        Raises:
            NotOver: the time has passed before; the task goes on.
        """
        return await self._follow(until_over(calls.task(id), timeout_s, self._patience))

    async def cancel(self, id: str) -> SubmittedTask:
        """Take a waiting task out of the queue, or stop a running one."""
        return await self._do(calls.cancel(id))

    async def retry(self, id: str) -> SubmittedTask:
        """Queue a task again that failed or was cancelled."""
        return await self._do(calls.retry(id))

    def task_events(
        self,
        ids: Sequence[str] = (),
        *,
        labels: Mapping[str, str] | None = None,
        after: int = 0,
        follow: bool = True,
    ) -> AsyncGenerator[TaskEvent]:
        """Every change of some tasks' state as it happens, earlier ones first; a lost stream is opened anew.

        Args:
            ids: up to 100 submitted tasks; or `labels`: those that have all of them; neither: every task.
            after: the last `event_id` seen.
            follow: False: end when all that is there has come.
        """
        return self._streamed(TaskEvent, calls.task_events(ids, labels, follow), after)

    # ---- webhooks ----

    async def add_webhook(
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
        return await self._do(calls.add_webhook(url, about, labels, states))

    async def webhooks(self) -> list[WebhookModel]:
        """Everybody who is told, newest first."""
        return await self._do(calls.webhooks())

    async def webhook(self, id: str) -> WebhookModel:
        """One of them."""
        return await self._do(calls.webhook(id))

    async def remove_webhook(self, id: str) -> WebhookModel:
        """Tell somebody no more."""
        return await self._do(calls.remove_webhook(id))

    def deliveries(self, id: str, state: str | None = None) -> AsyncIterator[DeliveryModel]:
        """What a webhook was and is to be told, newest first."""
        return self._every(calls.deliveries(id, state))

    async def retry_delivery(self, id: str, delivery_id: str) -> DeliveryModel:
        """Send again what was given up."""
        return await self._do(calls.retry_delivery(id, delivery_id))

    # ---- everything else ----

    def events(
        self, subjects: Sequence[str] = (), *, after: int = 0, follow: bool = True
    ) -> AsyncGenerator[EventModel]:
        """Metrics, states and alarms as they come, about some subjects ("round:3") or about all."""
        return self._streamed(EventModel, calls.events(subjects, follow), after)

    async def get(self, path: str, **params: Any) -> Any:
        """GET of a route that has no method here; its answer as plain JSON."""
        return await self._do(calls.anything("GET", path, params=params))

    async def post(self, path: str, body: Any = None) -> Any:
        """POST to a route that has no method here; never sent again once it may have arrived."""
        return await self._do(calls.anything("POST", path, body))

    async def put(self, path: str, body: Any = None) -> Any:
        """PUT to a route that has no method here."""
        return await self._do(calls.anything("PUT", path, body))

    async def delete(self, path: str) -> Any:
        """DELETE of a route that has no method here; never sent again once it may have arrived."""
        return await self._do(calls.anything("DELETE", path))
