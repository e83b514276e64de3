"""The second looks of one episode."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deskhand_agent.accounts import charged
from deskhand_agent.errors import InferenceTimeout
from deskhand_agent.test_time.checking import NOT_DONE, Check, SelfCheck
from deskhand_agent.time_limits import within
from deskhand_agent.types import Context, Step
from deskhand_sandbox.types import Observation


@dataclass(kw_only=True, slots=True)
class Seen:
    """A turn that may be the last, and what is said of it."""

    before: Context
    step: Step
    after: Observation
    """The screen it led to."""
    check: Check | None = None
    """Of those who were asked; None: nobody was yet."""

    def tell(self, words: str) -> None:
        """The step says it to the agent, after whatever else it says."""
        said = words if self.step.answer is None else f"{self.step.answer} {words}"
        self.step = replace(self.step, answer=said)


class SelfChecks:
    """Asks whether the task is done, where the episode has somebody to ask."""

    def __init__(self, self_check: SelfCheck | None, *, model_s: float) -> None:
        """
        Args:
            model_s: longest an opinion may take.
        """
        self._checker = None if self_check is None else self_check.checker
        self._doubts = 0 if self_check is None else self_check.doubts
        self._model_s = model_s

    async def done(self, seen: Seen) -> bool | None:
        """Whether the task is done as it seems; None: there is nobody to ask. What it cost is the step's.

        Raises:
            InferenceError: whoever is asked did not answer in time.
        """
        if self._checker is None:
            return None
        if seen.check is None:
            late = InferenceTimeout(f"no opinion within {self._model_s:g} s")
            asked = self._checker.check(seen.before, seen.step, seen.after)
            seen.check = await within(self._model_s, asked, late)
            seen.step = replace(seen.step, decision=charged(seen.step.decision, seen.check.cost))
        return seen.check.done

    async def doubt(self, seen: Seen) -> bool:
        """Whether the agent, which says it has finished, is told that it has not.

        Raises:
            InferenceError: as `done`.
        """
        if self._doubts == 0 or await self.done(seen) is not False:
            return False
        self._doubts -= 1
        seen.tell(NOT_DONE)
        return True
