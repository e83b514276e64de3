"""`deskhand flywheel route` and `lineage`: datasets made of episodes, and what came of what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from deskhand_platform.api.flywheel_models import LineageModel, RoutedModel
from deskhand_platform.cli.client import Client, HomeUrl, looked_up
from deskhand_platform.cli.console import out, shown, table, when
from deskhand_platform.cli.flywheel import Label, labels_of
from deskhand_platform.errors import InvalidField

Task = Annotated[str | None, typer.Option(help="only of this task")]
Policy = Annotated[str | None, typer.Option(help="only of this policy")]


def register(app: typer.Typer) -> None:
    """Add `route` and `lineage`."""
    app.command(
        epilog="Examples:  deskhand flywheel route --name imported --label source=osworld   ·   deskhand "
        "flywheel route rules.yaml --name mine   ·   "
        "deskhand flywheel route --url https://deskhand.example.com"
    )(route)
    app.command(
        epilog="Examples:  deskhand flywheel lineage policy-1f…   ·   deskhand flywheel lineage ID --json"
        "   ·   deskhand flywheel lineage ID --url https://deskhand.example.com"
    )(lineage)


def route(
    rules: Annotated[
        Path | None,
        typer.Argument(help="YAML of routes, laid on the flywheel's own; those alone without"),
    ] = None,
    name: Annotated[str, typer.Option(help="of the datasets, before the name of the route")] = "routed",
    task: Task = None,
    policy: Policy = None,
    label: Label = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="only say what each would take now; nothing is kept")
    ] = False,
    url: HomeUrl = None,
) -> None:
    """Make a dataset of each route: successes to imitate, failures to pretrain on, all for the RL pool.

    A route has an outcome (success, failure, all) and may ask for a band of difficulty (least_success and
    most_success of a task's episodes), for unique episodes (unique), for few of easy tasks (thin_to, above
    thin_above), for none longer than its task's longest success (within_longest), for a stored success of
    tasks that all failed (rescue), and for ones that do not begin as a held-out task's do (clean, asked for
    unless false). Each time makes new versions; held-out tasks and seeds stay out.
    """
    chosen = {"task_id": task, "policy_id": policy, "labels": labels_of(label or [])}
    lines = table("dataset", "for", "trajectories", "left out")
    for made in looked_up(lambda client: _route(client, name, read_rules(rules), chosen, preview), url):
        why = ", ".join(f"{count} {what}" for what, count in made.left_out.items())
        lines.add_row(made.dataset, made.kind, str(made.trajectories), why)
    out.print(lines)


def lineage(
    of: Annotated[str, typer.Argument(help="id of a policy, or a dataset as NAME@VERSION")],
    as_json: Annotated[bool, typer.Option("--json", help="as JSON, with every trajectory's id")] = False,
    url: HomeUrl = None,
) -> None:
    """Draw where a policy, or a dataset, comes from: trajectory ← policy ← dataset ← trajectory ← …"""
    policy, dataset = (None, of) if "@" in of else (of, None)
    traced = looked_up(lambda client: client.lineage(policy, dataset=dataset), url)
    if as_json:
        typer.echo(shown(traced.model_dump_json(indent=2)))
        return
    out.print(_drawn(traced), soft_wrap=True)


def read_rules(path: Path | None) -> str:
    """Rules as they are sent; empty where there is no file.

    Raises:
        InvalidField: it cannot be read.
    """
    try:
        return "" if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidField("rules", f"{path} cannot be read: {error}") from error


async def _route(
    client: Client, name: str, rules: str, chosen: Mapping[str, Any], preview: bool
) -> list[RoutedModel]:
    if preview:
        return await client.preview_routes(name, rules=rules, **chosen)
    return await client.route(name, rules=rules, **chosen)


def _drawn(node: LineageModel, onto: Tree | None = None) -> Tree:
    line = Text(_line(node))
    tree = Tree(line) if onto is None else onto.add(line)
    for source in node.sources:
        _drawn(source, tree)
    return tree


def _line(node: LineageModel) -> str:
    about = node.details
    if node.kind == "trajectories":
        count, won, tasks = (about.get(name) for name in ("trajectories", "successes", "tasks"))
        of = f"{len(tasks)} tasks" if isinstance(tasks, list) and len(tasks) != 1 else "one task"
        said = [f"{count} trajectories of {of} by {node.name}", f"{won} succeeded"]
    else:
        said = [f"{node.kind} {node.name}", *_notes(node)]
    return f"{node.relation + ': ' if node.relation else ''}{', '.join(said)}"


def _notes(node: LineageModel) -> list[str]:
    about = node.details
    if not node.kept:
        return ["not in the store"]
    notes = [f"{about['trajectories']} trajectories"] if "trajectories" in about else []
    notes += [f"{name} {about[name]}" for name in ("kind", "run") if about.get(name)]
    created = about.get("created_at_s")
    notes += [when(created)] if isinstance(created, float) else []
    notes += ["drawn above"] if node.above else []
    return [*notes, *(["goes on in its own lineage"] if node.cut else [])]
