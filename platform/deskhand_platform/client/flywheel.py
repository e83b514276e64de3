"""What people are asked, what episodes are chosen for, and what came of what, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from deskhand_platform.api.annotation_models import (
    AgreementModel,
    ReviewItem,
    ReviewRulesModel,
    ReviewsFound,
)
from deskhand_platform.api.flywheel_models import (
    CalibrationModel,
    DatasetDetail,
    DatasetModel,
    LineageModel,
    RoutedModel,
    RoutingModel,
    ScorerModel,
    SelectionModel,
)
from deskhand_platform.api.models import Page
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call


class AsyncFlywheel(AsyncConnection):
    """The flywheel, for programs that await."""

    async def lineage(self, policy: str | None = None, *, dataset: str | None = None) -> LineageModel:
        """Where a policy, or a dataset (NAME@VERSION), comes from."""
        return await self._do(_lineage(policy, dataset))

    async def datasets(self) -> list[DatasetModel]:
        """Every version of every dataset, newest first."""
        return await self._do(_datasets())

    async def dataset(self, name: str, version: int | None = None) -> DatasetDetail:
        """One dataset with its recipe and its first thousand trajectories; None: its newest version."""
        return await self._do(_dataset(name, version))

    async def selection(
        self,
        *,
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> SelectionModel:
        """How many trajectories this choice lets through, by how they went."""
        return await self._do(_selection(task_id, policy_id, labels))

    async def preview_routes(
        self,
        name: str = "routed",
        *,
        rules: str = "",
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[RoutedModel]:
        """What `route` would take now for each route, and leave out; nothing is kept."""
        return await self._do(_routed("/v1/datasets/preview", name, rules, task_id, policy_id, labels))

    async def routing(self) -> RoutingModel:
        """Where whole training episodes went, by kind of dataset."""
        return await self._do(_routing())

    async def scorers(self) -> list[ScorerModel]:
        """Who scored steps: people, judges, process reward models."""
        return await self._do(_scorers())

    async def calibrations(self) -> list[CalibrationModel]:
        """Process reward models that were calibrated, newest first, with how reliable they are."""
        return await self._do(_calibrations())

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
        return await self._do(_routed("/v1/datasets", name, rules, task_id, policy_id, labels))

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
            rules: YAML of what counts as a disagreement, laid on the store's own.
        """
        return await self._do(_find_reviews(rules, task_id, policy_id, labels))

    async def review_rules(self) -> ReviewRulesModel:
        """What counts as a disagreement where nobody says otherwise."""
        return await self._do(_review_rules())

    async def set_review_rules(self, rules: str = "") -> ReviewRulesModel:
        """Keep other rules with the store.

        Args:
            rules: YAML of what counts as a disagreement, laid on the flywheel's own; empty: those alone.
        """
        return await self._do(_set_review_rules(rules))

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

    def datasets(self) -> list[DatasetModel]:
        """Every version of every dataset, newest first."""
        return self._do(_datasets())

    def dataset(self, name: str, version: int | None = None) -> DatasetDetail:
        """One dataset with its recipe and its first thousand trajectories; None: its newest version."""
        return self._do(_dataset(name, version))

    def selection(
        self,
        *,
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> SelectionModel:
        """How many trajectories this choice lets through, by how they went."""
        return self._do(_selection(task_id, policy_id, labels))

    def preview_routes(
        self,
        name: str = "routed",
        *,
        rules: str = "",
        task_id: str | None = None,
        policy_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[RoutedModel]:
        """What `route` would take now for each route, and leave out; nothing is kept."""
        return self._do(_routed("/v1/datasets/preview", name, rules, task_id, policy_id, labels))

    def routing(self) -> RoutingModel:
        """Where whole training episodes went, by kind of dataset."""
        return self._do(_routing())

    def scorers(self) -> list[ScorerModel]:
        """Who scored steps: people, judges, process reward models."""
        return self._do(_scorers())

    def calibrations(self) -> list[CalibrationModel]:
        """Process reward models that were calibrated, newest first, with how reliable they are."""
        return self._do(_calibrations())

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
        return self._do(_routed("/v1/datasets", name, rules, task_id, policy_id, labels))

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
            rules: YAML of what counts as a disagreement, laid on the store's own.
        """
        return self._do(_find_reviews(rules, task_id, policy_id, labels))

    def review_rules(self) -> ReviewRulesModel:
        """What counts as a disagreement where nobody says otherwise."""
        return self._do(_review_rules())

    def set_review_rules(self, rules: str = "") -> ReviewRulesModel:
        """Keep other rules with the store.

        Args:
            rules: YAML of what counts as a disagreement, laid on the flywheel's own; empty: those alone.
        """
        return self._do(_set_review_rules(rules))

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


def _datasets() -> Call[list[DatasetModel]]:
    return calls.get("/v1/datasets", calls.reading_list(DatasetModel))


def _dataset(name: str, version: int | None) -> Call[DatasetDetail]:
    path = "/".join(map(calls.part, name.split("/")))
    return calls.get(f"/v1/datasets/{path}", calls.reading(DatasetDetail), version=version)


def _selection(
    task_id: str | None, policy_id: str | None, labels: Mapping[str, str] | None
) -> Call[SelectionModel]:
    asked = {"task_id": task_id, "policy_id": policy_id, "label": calls.labelled(labels)}
    return calls.long(calls.get("/v1/datasets/selection", calls.reading(SelectionModel), **asked))


def _routed(
    path: str,
    name: str,
    rules: str,
    task_id: str | None,
    policy_id: str | None,
    labels: Mapping[str, str] | None,
) -> Call[list[RoutedModel]]:
    body = {"name": name, **_chosen(rules, task_id, policy_id, labels)}
    read = calls.reading_list(RoutedModel)
    return calls.long(Call(method="POST", path=path, read=read, body=body, safe=False))


def _routing() -> Call[RoutingModel]:
    return calls.long(calls.get("/v1/routing", calls.reading(RoutingModel)))


def _scorers() -> Call[list[ScorerModel]]:
    return calls.long(calls.get("/v1/scorers", calls.reading_list(ScorerModel)))


def _calibrations() -> Call[list[CalibrationModel]]:
    return calls.get("/v1/calibrations", calls.reading_list(CalibrationModel))


def _find_reviews(
    rules: str, task_id: str | None, policy_id: str | None, labels: Mapping[str, str] | None
) -> Call[ReviewsFound]:
    body, read = _chosen(rules, task_id, policy_id, labels), calls.reading(ReviewsFound)
    return calls.long(Call(method="POST", path="/v1/review-queue", read=read, body=body))


def _review_rules() -> Call[ReviewRulesModel]:
    return calls.get("/v1/review-rules", calls.reading(ReviewRulesModel))


def _set_review_rules(rules: str) -> Call[ReviewRulesModel]:
    read, body = calls.reading(ReviewRulesModel), {"rules": rules}
    return Call(method="PUT", path="/v1/review-rules", read=read, body=body)


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
