"""`deskhand replay`, `trajectories`, `policies`: of this home, served or not, or of a platform elsewhere."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import BaseModel

from deskhand_agent.checksums import SUMS_FILE, write_sums
from deskhand_agent.errors import ModelFilesError
from deskhand_agent.model_files import base_of, check_model_folder
from deskhand_agent.types import Failure
from deskhand_flywheel.types import OutcomeFilter
from deskhand_platform.api.job_models import MergeOrder
from deskhand_platform.api.models import PolicyModel
from deskhand_platform.api.trajectory_models import TrajectoryDetail, TrajectoryPage
from deskhand_platform.cli import jobs
from deskhand_platform.cli.client import HomeUrl, WorkUrl, connect, reached
from deskhand_platform.cli.console import Json, out, print_json, say, shown, table, unix_time, when
from deskhand_platform.cli.flywheel import Label, labels_of
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.errors import InvalidField
from deskhand_platform.settings import load_settings

trajectories = typer.Typer(help="Recorded episodes.", no_args_is_help=True)
policies = typer.Typer(help="Kept checkpoints.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add `replay`."""
    app.command(
        epilog="Examples:  deskhand replay 0199… --html -o episode.html   ·   "
        "deskhand replay 0199… --url https://deskhand.example.com"
    )(replay)


def replay(
    id: Annotated[str, typer.Argument(help="id of the trajectory")],
    html: Annotated[bool, typer.Option("--html", help="one self-contained page")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="file; stdout without")] = None,
    url: HomeUrl = None,
) -> None:
    """Replay a recorded episode: its turns as text, or everything as one page."""
    text = asyncio.run(_replay(id, html, url))
    if output is None:
        sys.stdout.write(shown(text))
        return
    output.write_text(text)
    say(f"written to {output}")


@trajectories.command(
    "list",
    epilog="Examples:  deskhand trajectories list --task miniwob/click-test   ·   "
    "deskhand trajectories list --outcome success --url https://deskhand.example.com",
)
def list_trajectories(
    task: Annotated[str | None, typer.Option(help="only of this task")] = None,
    policy: Annotated[str | None, typer.Option(help="only of this policy")] = None,
    text: Annotated[
        str | None, typer.Option(help='words of an instruction or thought: login "sign in" pass* -admin')
    ] = None,
    outcome: Annotated[OutcomeFilter | None, typer.Option(help="only with this verdict")] = None,
    failure: Annotated[Failure | None, typer.Option(help="only those that this broke")] = None,
    since: Annotated[datetime | None, typer.Option(help="begun then or later")] = None,
    until: Annotated[datetime | None, typer.Option(help="begun before")] = None,
    min_score: Annotated[float | None, typer.Option(help="outcome of at least")] = None,
    max_score: Annotated[float | None, typer.Option(help="outcome of at most")] = None,
    min_steps: Annotated[int | None, typer.Option(min=0, help="whole, of so many steps or more")] = None,
    max_steps: Annotated[int | None, typer.Option(min=0, help="whole, of so many steps or fewer")] = None,
    label: Label = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """Trajectories, newest first."""
    chosen = {
        "task_id": task,
        "policy_id": policy,
        "labels": labels_of(label or []),
        "text": text,
        "outcome": outcome,
        "failure": failure,
        "since_s": unix_time(since, "--since"),
        "until_s": unix_time(until, "--until"),
        "min_score": min_score,
        "max_score": max_score,
        "min_turns": min_steps,
        "max_turns": max_steps,
    }
    page = asyncio.run(_trajectories(chosen, limit, url))
    if as_json:
        print_json(page.items)
        return
    lines = table("id", "task", "seed", "policy", "turns", "ended", "score", "")
    for one in page.items:
        lines.add_row(
            one.id,
            one.task_id,
            str(one.seed),
            one.policy_id,
            str(one.turns),
            when(one.ended_at_s),
            "" if one.score is None else f"{one.score:g}",
            one.failure or one.stop_reason or "",
        )
    for each in page.unreadable:
        lines.add_row(each, "cannot be read: `deskhand flywheel fsck` says why")
    out.print(lines)


@trajectories.command(
    epilog="Examples:  deskhand trajectories show 0199…   ·   "
    "deskhand trajectories show 0199… --json --url https://deskhand.example.com"
)
def show(
    id: Annotated[str, typer.Argument(help="id of the trajectory")],
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """What an episode was of, and how it came out; `deskhand replay` shows its turns."""
    _print(asyncio.run(_trajectory(id, url)), as_json)


@policies.command(
    "list",
    epilog="Examples:  deskhand policies list   ·   deskhand policies list --url https://deskhand.example.com",
)
def list_policies(as_json: Json = False, url: HomeUrl = None) -> None:
    """Kept policies, newest first; the promoted one is where the next round starts.

    `deskhand rounds promote` promotes one, or goes back to one.
    """
    found = asyncio.run(_policies(url))
    if as_json:
        print_json(found)
        return
    lines = table("policy", "name", "from", "kept", "")
    for one in found:
        name, note = str(one.metadata.get("name") or ""), "promoted" if one.promoted else ""
        lines.add_row(one.id, name, one.parent_id or "", when(one.created_at_s), note)
    out.print(lines)


@policies.command(
    "show",
    epilog="Examples:  deskhand policies show policy-1f…   ·   "
    "deskhand policies show policy-1f… --json --url https://deskhand.example.com",
)
def show_policy(
    id: Annotated[str, typer.Argument(help="id of the policy")], as_json: Json = False, url: HomeUrl = None
) -> None:
    """What is known of a policy: what it came of, and whether the next round starts from it."""
    _print(asyncio.run(_policy(id, url)), as_json)


@policies.command(
    epilog="Examples:  deskhand policies export deskhand-tiny ./my-model --dtype bfloat16   ·   "
    "deskhand policies export policy-1f… ./theirs --url https://deskhand.example.com"
)
def export(
    policy: Annotated[str, typer.Argument(help="id of a policy, or deskhand-tiny")],
    folder: Annotated[Path, typer.Argument(help="folder to write; must not be there, or be empty")],
    dtype: Annotated[str, typer.Option(help="of the weights: float32 or bfloat16")] = "float32",
    url: WorkUrl = None,
) -> None:
    """Write a policy as a plain transformers folder, with checksums."""
    if dtype not in ("float32", "bfloat16"):
        raise InvalidField("--dtype", "must be float32 or bfloat16")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidField("FOLDER", f"{folder} is there already: name a new one")
    import torch

    from deskhand_agent.models.bundle import load_bundle, save_bundle

    with tempfile.TemporaryDirectory(prefix="deskhand-export-") as scratch:
        kept = Path(scratch) / "policy"
        asyncio.run(_kept(policy, kept, url))
        save_bundle(load_bundle(kept), folder, dtype=getattr(torch, dtype))
    write_sums(folder)
    say(f"written to {folder}")


@policies.command(
    "import",
    epilog="Examples:  deskhand policies import ~/models/Qwen3-VL-2B-Instruct   ·   "
    "deskhand policies import ~/models/UI-TARS-1.5-7B --reply-format ui_tars   ·   "
    "deskhand policies import ./mine --name mine --url https://deskhand.example.com",
)
def import_policy(
    folder: Annotated[
        Path,
        typer.Argument(help="of a Qwen3-VL or Qwen2.5-VL, weights as safetensors, or of adapters for one"),
    ],
    name: Annotated[str | None, typer.Option(help="what to call it; the folder's name without")] = None,
    reply_format: Annotated[
        str | None,
        typer.Option(help="how released weights are asked and reply: deskhand, ui_tars, ui_tars_mobile, …"),
    ] = None,
    url: HomeUrl = None,
) -> None:
    """Keep a model that was made elsewhere, so that rounds, runs and tasks can begin from it.

    Low-rank adapters, as peft writes them, are kept as the model that they come to on their base.
    """
    try:
        if reply_format is not None and base_of(folder) is not None:
            raise InvalidField("--reply-format", "adapters are asked as their base is: say it of the base")
        with _whole(folder) as whole:
            check_model_folder(whole)
            from deskhand_agent.models.bundle import UNREAD, load_bundle

            with _asked_in(whole, reply_format) as model:
                load_bundle(model, device=UNREAD)
                kept = asyncio.run(_imported(model, name or folder.resolve().name, url))
    except ModelFilesError as error:
        raise InvalidField("FOLDER", str(error)) from error
    out.print(f"policy: {kept.id}")


@contextmanager
def _whole(folder: Path) -> Generator[Path]:
    """The folder of a model: the given one, or for adapters one in which they are one with their base."""
    if base_of(folder) is None:
        yield folder
        return
    from deskhand_agent.models.bundle import load_bundle, save_bundle

    with tempfile.TemporaryDirectory(prefix="deskhand-import-") as scratch:
        save_bundle(load_bundle(folder), Path(scratch) / "model")
        yield Path(scratch) / "model"


@contextmanager
def _asked_in(folder: Path, reply_format: str | None) -> Generator[Path]:
    """The folder of a released model with what says how it is asked; as it is where nothing was told."""
    if reply_format is None:
        yield folder
        return
    from deskhand_agent.formats import find_format
    from deskhand_agent.models.bundle import BUNDLE_FILE, REPLY_FORMAT

    find_format(reply_format, None)
    if (folder / BUNDLE_FILE).exists():
        raise InvalidField("--reply-format", f"{folder} says itself how its model is asked ({BUNDLE_FILE})")
    with tempfile.TemporaryDirectory(prefix="deskhand-import-") as scratch:
        for each in folder.resolve().iterdir():
            if each.name == SUMS_FILE:  # it is checked, and notes nothing of what is added
                continue
            (Path(scratch) / each.name).symlink_to(each)
        (Path(scratch) / BUNDLE_FILE).write_text(json.dumps({REPLY_FORMAT: reply_format}) + "\n")
        yield Path(scratch)


@policies.command(epilog="Example:  deskhand policies merge policy-1 policy-2 --weight 2 --weight 1")
def merge(
    policy: Annotated[list[str], typer.Argument(help="ids of two or more policies")],
    weight: Annotated[
        list[float] | None, typer.Option(help="of each, in order; all the same without")
    ] = None,
    url: WorkUrl = None,
) -> None:
    """Make one policy of several by the weighted mean of their weights, and keep it."""
    if len(policy) < 2:
        raise InvalidField("POLICY", "name two policies or more")
    if weight and (len(weight) != len(policy) or min(weight) <= 0):
        raise InvalidField("--weight", f"give a positive one for each of the {len(policy)} policies, or none")
    done = jobs.done(jobs.made(MergeOrder, policies=policy, weights=weight or None), url)
    out.print(f"policy: {done['policy']}")


def _print(found: BaseModel, as_json: bool) -> None:
    text = yaml.safe_dump(found.model_dump(mode="json"), sort_keys=False, allow_unicode=True).rstrip()
    out.print(found.model_dump_json(indent=1) if as_json else text, soft_wrap=True)


async def _replay(id: str, html: bool, url: str | None) -> str:
    async with reached(url) as client:
        return await client.replay(id, html=html)


async def _kept(policy: str, folder: Path, url: str | None) -> None:
    settings = load_settings()
    if url is not None or settings.url is not None:
        async with connect(settings, url) as client:
            await client.download_policy(policy, folder)
        return
    async with opened_store() as store:
        await store.materialise_policy((await store.policy_named(policy)).id, folder)


async def _imported(folder: Path, name: str | None, url: str | None) -> PolicyModel:
    async with reached(url) as client:
        return await client.upload_policy(folder, name=name)


async def _trajectories(chosen: Mapping[str, Any], limit: int, url: str | None) -> TrajectoryPage:
    async with reached(url) as client:
        return await client.trajectory_page(limit=limit, **chosen)


async def _trajectory(id: str, url: str | None) -> TrajectoryDetail:
    async with reached(url) as client:
        return await client.trajectory(id)


async def _policy(id: str, url: str | None) -> PolicyModel:
    async with reached(url) as client:
        return await client.policy(id)


async def _policies(url: str | None) -> list[PolicyModel]:
    async with reached(url) as client:
        return await client.policies()
