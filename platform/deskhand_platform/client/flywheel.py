"""What people are asked, what episodes are chosen for, and what came of what, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from deskhand_platform.api.annotation_models import AgreementModel, ReviewItem, ReviewsFound
from deskhand_platform.api.flywheel_models import LineageModel, RoutedModel
from deskhand_platform.api.models import Page
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call


class AsyncFlywheel(AsyncConnection):
    """The flywheel, for programs that await."""

    async def lineage(self, policy: str | None = None, *, dataset: str | None = None) -> LineageModel:
        """Where a policy, or a dataset (NAME@VERSION), comes from."""
        return await self._do(_lineage(policy, dataset))

    async def route(
        self,
        name: str = "routed",
        *,
        rules: str = "",
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[RoutedModel]:
        """Make the next version of a dataset for each route, from episodes of this choice.

        Args:
            name: of the datasets, before the name of the route.
            rules: YAML of routes, laid on the flywheel's own.
        """
        return await self._do(_route(name, rules, task_id, policy_id, labels))

    async def find_reviews(
        self,
        *,
        rules: str = "",
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> ReviewsFound:
        """Bring the review queue up to date for episodes of this choice.

        Args:
            rules: YAML of what counts as a disagreement, laid on the flywheel's own.
        """
        return await self._do(_find_reviews(rules, task_id, policy_id, labels))

    def reviews(self, state: str = "open") -> AsyncIterator[ReviewItem]:
        """What people should look at, most strongly first; or what they have marked, "resolved"."""
        return self._every(_reviews(state))

    async def agreement(
        self,
        sources: Sequence[str] = (),
        *,
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> AgreementModel:
        """How far those who marked the same steps agree.

        Args:
            sources: "human", "judge", "prm" or scorers' names; none: people alone.
        """
        return await self._do(_agreement(sources, task_id, policy_id, labels))


class Flywheel(Connection):
    """The flywheel, for programs that block."""

    def lineage(self, policy: str | None = None, *, dataset: str | None = None) -> LineageModel:
        """Where a policy, or a dataset (NAME@VERSION), comes from."""
        return self._do(_lineage(policy, dataset))

    def route(
        self,
        name: str = "routed",
        *,
        rules: str = "",
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[RoutedModel]:
        """Make the next version of a dataset for each route, from episodes of this choice.

        Args:
            name: of the datasets, before the name of the route.
            rules: YAML of routes, laid on the flywheel's own.
        """
        return self._do(_route(name, rules, task_id, policy_id, labels))

    def find_reviews(
        self,
        *,
        rules: str = "",
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> ReviewsFound:
        """Bring the review queue up to date for episodes of this choice.

        Args:
            rules: YAML of what counts as a disagreement, laid on the flywheel's own.
        """
        return self._do(_find_reviews(rules, task_id, policy_id, labels))

    def reviews(self, state: str = "open") -> Iterator[ReviewItem]:
        """What people should look at, most strongly first; or what they have marked, "resolved"."""
        return self._every(_reviews(state))

    def agreement(
        self,
        sources: Sequence[str] = (),
        *,
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> AgreementModel:
        """How far those who marked the same steps agree.

        Args:
            sources: "human", "judge", "prm" or scorers' names; none: people alone.
        """
        return self._do(_agreement(sources, task_id, policy_id, labels))


def _lineage(policy: str | None, dataset: str | None) -> Call[LineageModel]:
    read = calls.reading(LineageModel)
    return calls.long(calls.get("/v1/lineage", read, policy=policy, dataset=dataset))


def _route(
    name: str, rules: str, task_id: str | None, policy_id: str | None, labels: Mapping[str, str] | None
) -> Call[list[RoutedModel]]:
    body = {"name": name, **_chosen(rules, task_id, policy_id, labels)}
    read = calls.reading_list(RoutedModel)
    return calls.long(Call(method="POST", path="/v1/datasets", read=read, body=body, safe=False))


def _find_reviews(
    rules: str, task_id: str | None, policy_id: str | None, labels: Mapping[str, str] | None
) -> Call[ReviewsFound]:
    body, read = _chosen(rules, task_id, policy_id, labels), calls.reading(ReviewsFound)
    return calls.long(Call(method="POST", path="/v1/review-queue", read=read, body=body))


def _chosen(
    rules: str, task_id: str | None, policy_id: str | None, labels: Mapping[str, str] | None
) -> dict[str, Any]:
    """Rules, and the episodes they are for."""
    return {"rules": rules, "task_id": task_id, "policy_id": policy_id, "labels": dict(labels or {})}


def _reviews(state: str) -> Callable[[str | None], Call[Page[ReviewItem]]]:
    return calls.page("/v1/review-queue", ReviewItem, state=state)


def _agreement(
    sources: Sequence[str], task_id: str | None, policy_id: str | None, labels: Mapping[str, str] | None
) -> Call[AgreementModel]:
    whose = {"source": list(sources) or None, "label": calls.labelled(labels)}
    read = calls.reading(AgreementModel)
    return calls.long(calls.get("/v1/agreement", read, task_id=task_id, policy_id=policy_id, **whose))
