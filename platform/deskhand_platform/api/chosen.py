"""Which trajectories a request is about: the filters of its query."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from deskhand_agent.types import Failure
from deskhand_flywheel.errors import InvalidQuery
from deskhand_flywheel.search import terms_of
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_platform.api.deps import Label, Who, labelled
from deskhand_platform.errors import InvalidField
from deskhand_sandbox.types import Split

TEXT = 'words of the instruction or of one thought, e.g. `login "sign in" pass* -admin`'
MAX_TURNS = 2**31 - 1


async def chosen(
    who: Who,
    task_id: str | None = None,
    policy_id: str | None = None,
    split: Split | None = None,
    outcome: OutcomeFilter | None = None,
    ended: Annotated[bool | None, Query(description="whole episodes, or those that are not")] = None,
    text: Annotated[str | None, Query(description=TEXT, max_length=500)] = None,
    failure: Annotated[Failure | None, Query(description="what broke that was not the agent")] = None,
    min_score: Annotated[float | None, Query(description="of the outcome")] = None,
    max_score: float | None = None,
    min_turns: Annotated[int | None, Query(ge=0, le=MAX_TURNS, description="of whole episodes")] = None,
    max_turns: Annotated[int | None, Query(ge=0, le=MAX_TURNS)] = None,
    since_s: Annotated[float | None, Query(description="begun at or after this Unix time")] = None,
    until_s: Annotated[float | None, Query(description="begun before this Unix time")] = None,
    label: Label = None,
) -> TrajectoryFilter:
    """Submitters may choose among those of their tasks.

    Raises:
        InvalidField: the text is no search, or a label not of the form key=value.
    """
    labels = labelled(label or [])
    if who.only is not None:
        labels["owner"] = who.only
    return TrajectoryFilter(
        task_ids=None if task_id is None else (task_id,),
        policy_id=policy_id,
        split=split,
        outcome=outcome,
        labels=labels,
        ended=ended,
        text=_searched(text),
        failure=failure,
        min_score=min_score,
        max_score=max_score,
        min_steps=min_turns,
        max_steps=max_turns,
        since_s=since_s,
        until_s=until_s,
    )


Chosen = Annotated[TrajectoryFilter, Depends(chosen)]


def _searched(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        terms_of(text)
    except InvalidQuery as error:
        raise InvalidField("text", str(error)) from error
    return text
