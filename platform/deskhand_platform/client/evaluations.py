"""Success of policies on tasks, measured and compared, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from deskhand_platform.api.evaluation_models import ComparisonModel, EvaluationModel, SuiteModel
from deskhand_platform.api.models import Page
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call, until_over


class AsyncEvaluations(AsyncConnection):
    """Evaluations, for programs that await."""

    async def start_evaluation(
        self,
        tasks: Sequence[str],
        *,
        policy_id: str | None = None,
        episodes: int = 32,
        modes: Sequence[str] = ("sampled",),
        split: str = "test",
    ) -> EvaluationModel:
        """Queue one; they are worked one after the other.

        Args:
            tasks: of the catalog, by id.
            policy_id: a kept one, or "deskhand-tiny"; None: the scripted oracle.
            episodes: per task and mode.
            modes: "sampled", "greedy" or both.
            split: which seeds, "test" or "validation".
        """
        return await self._do(_start(tasks, policy_id, episodes, modes, split))

    def evaluations(
        self, *, policy_id: str | None = None, task: str | None = None
    ) -> AsyncIterator[EvaluationModel]:
        """Evaluations, newest first: of a policy, with a task among theirs."""
        return self._every(_list(policy_id, task))

    async def evaluation(self, id: str) -> EvaluationModel:
        """One of them as it is now, with how far it is."""
        return await self._do(_get(id))

    async def wait_evaluation(self, id: str, timeout_s: float | None = None) -> EvaluationModel:
        """The evaluation when it is over.

        Raises:
            NotOver: the time has passed before; the evaluation goes on.
        """
        return await self._follow(until_over(_get(id), timeout_s, self._patience))

    async def cancel_evaluation(self, id: str) -> EvaluationModel:
        """Take one out of the queue, or stop it; those of rounds end with their round."""
        return await self._do(_cancel(id))

    async def compare_policies(self, old: str, new: str) -> list[ComparisonModel]:
        """The newest measurements of the same tasks by two policies, what got worse first."""
        return await self._do(_compare(old, new))

    async def suites(self) -> list[SuiteModel]:
        """Tasks that are measured together: held out, by presets, and as people put them together."""
        return await self._do(_suites())

    async def keep_suite(self, name: str, tasks: Sequence[str]) -> SuiteModel:
        """Put tasks together as a suite, or others into one of that name.

        Args:
            name: up to 64 small letters, digits, dots and dashes.
        """
        return await self._do(_keep_suite(name, tasks))

    async def delete_suite(self, name: str) -> None:
        """Forget a suite that somebody put together; what was measured on it stays."""
        await self._do(_delete_suite(name))


class Evaluations(Connection):
    """Evaluations, for programs that block."""

    def start_evaluation(
        self,
        tasks: Sequence[str],
        *,
        policy_id: str | None = None,
        episodes: int = 32,
        modes: Sequence[str] = ("sampled",),
        split: str = "test",
    ) -> EvaluationModel:
        """Queue one; they are worked one after the other.

        Args:
            tasks: of the catalog, by id.
            policy_id: a kept one, or "deskhand-tiny"; None: the scripted oracle.
            episodes: per task and mode.
            modes: "sampled", "greedy" or both.
            split: which seeds, "test" or "validation".
        """
        return self._do(_start(tasks, policy_id, episodes, modes, split))

    def evaluations(
        self, *, policy_id: str | None = None, task: str | None = None
    ) -> Iterator[EvaluationModel]:
        """Evaluations, newest first: of a policy, with a task among theirs."""
        return self._every(_list(policy_id, task))

    def evaluation(self, id: str) -> EvaluationModel:
        """One of them as it is now, with how far it is."""
        return self._do(_get(id))

    def wait_evaluation(self, id: str, timeout_s: float | None = None) -> EvaluationModel:
        """The evaluation when it is over.

        Raises:
            NotOver: the time has passed before; the evaluation goes on.
        """
        return self._follow(until_over(_get(id), timeout_s, self._patience))

    def cancel_evaluation(self, id: str) -> EvaluationModel:
        """Take one out of the queue, or stop it; those of rounds end with their round."""
        return self._do(_cancel(id))

    def compare_policies(self, old: str, new: str) -> list[ComparisonModel]:
        """The newest measurements of the same tasks by two policies, what got worse first."""
        return self._do(_compare(old, new))

    def suites(self) -> list[SuiteModel]:
        """Tasks that are measured together: held out, by presets, and as people put them together."""
        return self._do(_suites())

    def keep_suite(self, name: str, tasks: Sequence[str]) -> SuiteModel:
        """Put tasks together as a suite, or others into one of that name.

        Args:
            name: up to 64 small letters, digits, dots and dashes.
        """
        return self._do(_keep_suite(name, tasks))

    def delete_suite(self, name: str) -> None:
        """Forget a suite that somebody put together; what was measured on it stays."""
        self._do(_delete_suite(name))


def _start(
    tasks: Sequence[str], policy_id: str | None, episodes: int, modes: Sequence[str], split: str
) -> Call[EvaluationModel]:
    whose = {"policy_id": policy_id, "tasks": [*tasks]}
    body = {**whose, "episodes": episodes, "modes": [*modes], "split": split}
    read = calls.reading(EvaluationModel)
    return Call(method="POST", path="/v1/evaluations", read=read, body=body, safe=False)


def _list(policy_id: str | None, task: str | None) -> Callable[[str | None], Call[Page[EvaluationModel]]]:
    return calls.page("/v1/evaluations", EvaluationModel, policy_id=policy_id, task=task)


def _get(id: str) -> Call[EvaluationModel]:
    return calls.get(f"/v1/evaluations/{calls.part(id)}", calls.reading(EvaluationModel))


def _cancel(id: str) -> Call[EvaluationModel]:
    path = f"/v1/evaluations/{calls.part(id)}/cancel"
    return Call(method="POST", path=path, read=calls.reading(EvaluationModel), safe=False)


def _compare(old: str, new: str) -> Call[list[ComparisonModel]]:
    return calls.get("/v1/evaluations/compare", calls.reading_list(ComparisonModel), old=old, new=new)


def _suites() -> Call[list[SuiteModel]]:
    return calls.get("/v1/evaluations/suites", calls.reading_list(SuiteModel))


def _keep_suite(name: str, tasks: Sequence[str]) -> Call[SuiteModel]:
    path = f"/v1/evaluations/suites/{calls.part(name)}"
    return Call(method="PUT", path=path, read=calls.reading(SuiteModel), body={"tasks": [*tasks]})


def _delete_suite(name: str) -> Call[None]:
    path = f"/v1/evaluations/suites/{calls.part(name)}"
    return Call(method="DELETE", path=path, read=calls.nothing, safe=False)
