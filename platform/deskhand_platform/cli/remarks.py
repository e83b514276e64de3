"""`deskhand trajectories step|annotations|mark|note`: a step in full, and what people say of it."""

from __future__ import annotations

from typing import Annotated

import typer

from deskhand_platform.cli.client import Client, HomeUrl, looked_up
from deskhand_platform.cli.console import Json, out, table
from deskhand_platform.errors import InvalidField

Id = Annotated[str, typer.Argument(help="id of the trajectory")]
Index = Annotated[int, typer.Argument(min=0, help="number of the step, from 0")]


def register(app: typer.Typer) -> None:
    """Add them."""
    app.command(epilog="Example:  deskhand trajectories step 0199… 3")(step)
    app.command("annotations", epilog="Example:  deskhand trajectories annotations 0199…")(list_annotations)
    app.command(
        epilog="Examples:  deskhand trajectories mark 0199… 1   ·   "
        "deskhand trajectories mark 0199… 0 --step 3 --reason 'It missed.'   ·   "
        "deskhand trajectories mark 0199… --step 3 --undo"
    )(mark)
    app.command(epilog="Example:  deskhand trajectories note 0199… 3 'The dialog hides the button.'")(note)


def step(id: Id, index: Index, url: HomeUrl = None) -> None:
    """What the model was shown for a step and what it said, to the token, as JSON."""
    found = looked_up(lambda client: client.step_inside(id, index), url)
    out.print(found.model_dump_json(indent=1), soft_wrap=True)


def list_annotations(id: Id, as_json: Json = False, url: HomeUrl = None) -> None:
    """What everybody marked and noted of an episode."""
    found = looked_up(lambda client: client.annotations(id), url)
    if as_json:
        out.print(found.model_dump_json(indent=1), soft_wrap=True)
        return
    lines = table("step", "who", "mark", "")
    for one in found.marks:
        lines.add_row(_step(one.step_index), one.annotator, f"{one.score:g}", one.reason)
    for one in found.notes:
        lines.add_row(_step(one.step_index), one.author, "", one.text)
    out.print(lines)


def mark(
    id: Id,
    score: Annotated[float | None, typer.Argument(min=0, max=1, help="1: good, 0: bad")] = None,
    step: Annotated[int | None, typer.Option(min=0, help="number of the step; the episode without")] = None,
    reason: Annotated[str, typer.Option(help="why")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="take your mark back")] = False,
    url: HomeUrl = None,
) -> None:
    """Mark a step, or the whole episode, or change your mark."""
    if (score is None) != undo:
        raise InvalidField("SCORE", "give one from 0 to 1, or --undo")

    async def said(client: Client) -> None:
        if score is None:
            await (client.unmark_trajectory(id) if step is None else client.unmark_step(id, step))
        elif step is None:
            await client.mark_trajectory(id, score, reason)
        else:
            await client.mark_step(id, step, score, reason)

    looked_up(said, url)


def note(
    id: Id, index: Index, text: Annotated[str, typer.Argument(help="of the note")], url: HomeUrl = None
) -> None:
    """Attach a note to a step; its id is printed."""
    out.print(looked_up(lambda client: client.write_note(id, index, text), url).id)


def _step(index: int | None) -> str:
    return "" if index is None else str(index)
