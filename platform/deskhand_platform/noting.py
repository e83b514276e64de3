"""Where the worker's episodes are written: the store, told as well what a person made of a step."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from deskhand_agent.branching import shared_turns
from deskhand_agent.types import Step, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.annotations import scorer_of
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore
from deskhand_sandbox import logs
from deskhand_sandbox.types import Observation

log = logging.getLogger("deskhand_platform.worker")


class Noting:
    """The store, which is also told of a reviewed step that a person found it good; says what has begun, and
    when a person has spoken. Of turns that a branch has from another episode it was told there.

    Counts the bytes of what each episode was shown.
    """

    def __init__(
        self,
        sink: Store,
        begun: Callable[[TrajectoryStart], Awaitable[None]],
        *,
        attended: Callable[[], Awaitable[None]],
    ) -> None:
        self._sink = sink
        self._begun, self._attended = begun, attended
        self.current = ""
        """Id of the episode that began last; empty before one did."""
        self.sizes: Counter[str] = Counter()
        self._copied: Counter[str] = Counter()
        """First turns of each episode that it has from another."""

    async def begin(self, start: TrajectoryStart) -> None:
        await self._sink.begin(start)
        await self._begun(start)
        self.current = start.id
        self._copied[start.id] = shared_turns(start)
        logs.note(trajectory=start.id)
        log.info("an episode began")

    async def step(self, trajectory_id: str, step: Step) -> None:
        self.sizes[trajectory_id] += _size(step.observation)
        await self._sink.step(trajectory_id, step)
        review = step.decision.review
        if review is not None and review.by is not None and step.index >= self._copied[trajectory_id]:
            # accepted, or their own: what was proposed instead stands in the review
            mark = StepScore(
                trajectory_id=trajectory_id,
                step_index=step.index,
                score=1.0,
                scorer=scorer_of(review.by),
                rationale=review.reason or None,
            )
            await self._sink.add_scores([mark])
            await self._attended()

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> None:
        if end.final_observation is not None:
            self.sizes[trajectory_id] += _size(end.final_observation)
        await self._sink.end(trajectory_id, end)


def _size(seen: Observation) -> int:
    """Bytes of the picture as it came, of the accessibility tree and of what else there is to read."""
    texts = (seen.text_tree, seen.terminal, seen.output)
    # half a surrogate pair has no bytes of its own
    read = sum(len(text.encode(errors="replace")) for text in texts if text is not None)
    return len(seen.screenshot.data or b"") + read
