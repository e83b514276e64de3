"""`deskhand branch`: new episodes that go on from a step of a recorded one."""

from __future__ import annotations

from typing import Annotated

import typer

from deskhand_platform.cli.client import Url, asked
from deskhand_platform.cli.console import out
from deskhand_platform.cli.tasks import settings_of


def register(root: typer.Typer) -> None:
    """Add `branch` to the root."""
    root.command(
        epilog="Example:  deskhand branch ID 4 --policy local --setting policy_id=policy-1f… --episodes 8"
    )(branch)


def branch(
    id: Annotated[str, typer.Argument(help="id of the recorded trajectory")],
    step: Annotated[int, typer.Argument(min=0, help="the first that is decided anew")],
    policy: Annotated[str, typer.Option(help="who decides from there: scripted, local, openai, …")] = (
        "scripted"
    ),
    setting: Annotated[list[str] | None, typer.Option(help="of the policy: name=value; repeatable")] = None,
    episodes: Annotated[int, typer.Option(min=1, max=64)] = 1,
    priority: Annotated[int, typer.Option(min=-100, max=100, help="higher ones go first")] = 0,
    review: Annotated[
        float | None, typer.Option(help="seconds a person may take over each action before it is carried out")
    ] = None,
    url: Url = None,
) -> None:
    """Queue episodes that share the steps before this one; the submitted task's id is printed.

    The recorded actions are done again from the seeded start and every screen is compared. The trajectories
    are labelled branch_of=ID, and branch_exact=no where a screen differed.
    """
    given = settings_of(setting or [])
    queued = asked(
        lambda client: client.branch(
            id,
            step,
            policy=policy,
            settings=given,
            review_s=review,
            episodes=episodes,
            priority=priority,
        ),
        url,
    )
    out.print(queued.id)
