"""Recorded episodes and what goes on from them, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from deskhand_platform.api.models import Page, SubmittedTask
from deskhand_platform.api.step_models import CurvesModel, StepInside
from deskhand_platform.api.trajectory_models import (
    ScoreModel,
    StepModel,
    StepPage,
    TrajectoryDetail,
    TrajectoryPage,
    TrajectorySummary,
)
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call


class AsyncTrajectories(AsyncConnection):
    """Episodes, for programs that await."""

    def trajectories(
        self, *, labels: Mapping[str, str] | None = None, **filters: Any
    ) -> AsyncIterator[TrajectorySummary]:
        """Recorded episodes, newest first; the filters are those of `GET /v1/trajectories`."""
        return self._every(_trajectories(filters, labels))

    async def trajectory_page(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        cursor: str | None = None,
        limit: int = 50,
        **filters: Any,
    ) -> TrajectoryPage:
        """A page of them, with the ids of those that belong there and cannot be read."""
        return await self._do(_trajectory_page(filters, labels, cursor, limit))

    async def trajectory(self, id: str) -> TrajectoryDetail:
        """One episode, without its steps."""
        return await self._do(_trajectory(id))

    async def steps(self, id: str) -> AsyncIterator[StepModel]:
        """The turns of an episode, in order."""
        offset, total = 0, 1
        while offset < total:
            found = await self._do(_steps(id, offset))
            for step in found.items:
                yield step
            offset, total = offset + calls.PAGE, found.total

    async def step_inside(self, id: str, index: int) -> StepInside:
        """What the model was shown for a step and what it said, to the token."""
        return await self._do(_inside(id, index))

    async def curves(self, id: str) -> CurvesModel:
        """Reward, value, scores and advantage of every step, however many there are."""
        return await self._do(_curves(id))

    async def scores(self, id: str) -> list[ScoreModel]:
        """Every score of every step, with who gave it."""
        return await self._do(_scores(id))

    async def replay(self, id: str, *, html: bool = False) -> str:
        """An episode's turns as text, or everything about it as one page that needs nothing else."""
        return await self._do(_replay(id, html))

    async def image(self, digest: str, width: int | None = None) -> bytes:
        """A screenshot, as it was recorded; with a width, a WebP about so many pixels wide."""
        return await self._do(_image(digest, width))

    async def branch(
        self,
        id: str,
        step: int,
        *,
        policy: str = "scripted",
        settings: Mapping[str, JsonValue] | None = None,
        review_s: float | None = None,
        episodes: int = 1,
        labels: Mapping[str, str] | None = None,
        priority: int = 0,
    ) -> SubmittedTask:
        """Queue episodes that share the steps before this one and are decided anew from there.

        Their trajectories are labelled `branch_of`, and `branch_exact`: "no" where a screen differed.

        Args:
            step: the first that is decided anew.
            settings: of the policy.
            episodes: 1 to 64.
        """
        choice = {"name": policy, "settings": dict(settings or {}), "review_s": review_s}
        return await self._do(_branch(id, step, choice, episodes, labels, priority))


class Trajectories(Connection):
    """Episodes, for programs that block."""

    def trajectories(
        self, *, labels: Mapping[str, str] | None = None, **filters: Any
    ) -> Iterator[TrajectorySummary]:
        """Recorded episodes, newest first; the filters are those of `GET /v1/trajectories`."""
        return self._every(_trajectories(filters, labels))

    def trajectory_page(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        cursor: str | None = None,
        limit: int = 50,
        **filters: Any,
    ) -> TrajectoryPage:
        """A page of them, with the ids of those that belong there and cannot be read."""
        return self._do(_trajectory_page(filters, labels, cursor, limit))

    def trajectory(self, id: str) -> TrajectoryDetail:
        """One episode, without its steps."""
        return self._do(_trajectory(id))

    def steps(self, id: str) -> Iterator[StepModel]:
        """The turns of an episode, in order."""
        offset, total = 0, 1
        while offset < total:
            found = self._do(_steps(id, offset))
            yield from found.items
            offset, total = offset + calls.PAGE, found.total

    def step_inside(self, id: str, index: int) -> StepInside:
        """What the model was shown for a step and what it said, to the token."""
        return self._do(_inside(id, index))

    def curves(self, id: str) -> CurvesModel:
        """Reward, value, scores and advantage of every step, however many there are."""
        return self._do(_curves(id))

    def scores(self, id: str) -> list[ScoreModel]:
        """Every score of every step, with who gave it."""
        return self._do(_scores(id))

    def replay(self, id: str, *, html: bool = False) -> str:
        """An episode's turns as text, or everything about it as one page that needs nothing else."""
        return self._do(_replay(id, html))

    def image(self, digest: str, width: int | None = None) -> bytes:
        """A screenshot, as it was recorded; with a width, a WebP about so many pixels wide."""
        return self._do(_image(digest, width))

    def branch(
        self,
        id: str,
        step: int,
        *,
        policy: str = "scripted",
        settings: Mapping[str, JsonValue] | None = None,
        review_s: float | None = None,
        episodes: int = 1,
        labels: Mapping[str, str] | None = None,
        priority: int = 0,
    ) -> SubmittedTask:
        """Queue episodes that share the steps before this one and are decided anew from there.

        Their trajectories are labelled `branch_of`, and `branch_exact`: "no" where a screen differed.

        Args:
            step: the first that is decided anew.
            settings: of the policy.
            episodes: 1 to 64.
        """
        choice = {"name": policy, "settings": dict(settings or {}), "review_s": review_s}
        return self._do(_branch(id, step, choice, episodes, labels, priority))


def _trajectories(
    filters: Mapping[str, Any], labels: Mapping[str, str] | None
) -> Callable[[str | None], Call[Page[TrajectorySummary]]]:
    return calls.page("/v1/trajectories", TrajectorySummary, **filters, label=calls.labelled(labels))


def _trajectory_page(
    filters: Mapping[str, Any], labels: Mapping[str, str] | None, cursor: str | None, limit: int
) -> Call[TrajectoryPage]:
    asked = {**filters, "label": calls.labelled(labels), "cursor": cursor, "limit": limit}
    return calls.get("/v1/trajectories", calls.reading(TrajectoryPage), **asked)


def _trajectory(id: str) -> Call[TrajectoryDetail]:
    return calls.get(_of(id), calls.reading(TrajectoryDetail))


def _steps(id: str, offset: int) -> Call[StepPage]:
    return calls.get(f"{_of(id)}/steps", calls.reading(StepPage), offset=offset, limit=calls.PAGE)


def _inside(id: str, index: int) -> Call[StepInside]:
    return calls.get(f"{_of(id)}/steps/{index}/inside", calls.reading(StepInside))


def _curves(id: str) -> Call[CurvesModel]:
    return calls.get(f"{_of(id)}/curves", calls.reading(CurvesModel))


def _scores(id: str) -> Call[list[ScoreModel]]:
    return calls.get(f"{_of(id)}/scores", calls.reading_list(ScoreModel))


def _replay(id: str, html: bool) -> Call[str]:
    path = f"{_of(id)}/replay.{'html' if html else 'txt'}"
    return calls.long(calls.get(path, lambda response: response.text))


def _image(digest: str, width: int | None) -> Call[bytes]:
    return calls.get(f"/v1/images/{calls.part(digest)}", lambda response: response.content, width=width)


def _branch(
    id: str,
    step: int,
    policy: Mapping[str, Any],
    episodes: int,
    labels: Mapping[str, str] | None,
    priority: int,
) -> Call[SubmittedTask]:
    body = {"step": step, "policy": policy, "episodes": episodes}
    body |= {"labels": dict(labels or {}), "priority": priority}
    read = calls.reading(SubmittedTask)
    return Call(method="POST", path=f"{_of(id)}/branch", read=read, body=body, safe=False)


def _of(id: str) -> str:
    return f"/v1/trajectories/{calls.part(id)}"
