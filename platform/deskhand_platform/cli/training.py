"""`deskhand train` and `deskhand eval`: one run of the trainer by hand, outside any round."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer
import yaml

from deskhand_platform.cli import overrides
from deskhand_platform.cli.console import out, say, table
from deskhand_platform.cli.foreground import run_in_foreground
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.cli.settings_yaml import read_yaml
from deskhand_platform.errors import InvalidField, NotFound, RoundFailed, WrongState
from deskhand_platform.rounds.config import check_asked, merge
from deskhand_platform.rounds.runs import read_error, read_result, write_spec
from deskhand_platform.settings import load_settings
from deskhand_sandbox import logs
from deskhand_sandbox.manager.lending import as_json
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.presets import method, method_names
from deskhand_trainer.run_folder import RunFolder, hold, read_spec
from deskhand_trainer.runs import RunKind, RunSpec

Set = Annotated[list[str] | None, typer.Option("--set", help="override, e.g. iterations=10; repeatable")]
EvalSet = Annotated[list[str] | None, typer.Option("--set", help="override, e.g. episodes=64; repeatable")]
PolicyIn = Annotated[
    str | None,
    typer.Option("--policy", help="id of a policy, or deskhand-tiny, to start from; untrained without"),
]
FROM_DATASETS = (RunKind.SFT, RunKind.PRETRAIN, RunKind.PREFER)
FIXED = {"kind": "kind", "policy_in": "policy", "prm_in": "reward model", "dataset": "dataset"}
"""Fields of a run's spec that stay as they were when it goes on, and what a person calls them."""
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of the run's settings")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example:  deskhand train ppo --policy ID --set minutes=5")(train)
    app.command("eval", epilog="Example:  deskhand eval --policy ID --set episodes=64")(evaluate)


def train(
    kind: Annotated[
        str,
        typer.Argument(
            help="pretrain, collect, label, score, sft, prefer, ppo or evaluate; presets: methods by name"
        ),
    ],
    config: ConfigFile = None,
    preset: Annotated[str | None, typer.Option(help="method of such a run, e.g. st-ppo of ppo")] = None,
    policy: PolicyIn = None,
    set_: Set = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="that sft, pretrain or prefer learns from alone, and ppo where it reads the store: "
            "NAME@VERSION, e.g. round-3/sft@1"
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="name of the run; an unfinished one goes on")] = None,
    reward_model: Annotated[
        str | None, typer.Option(help="id of a process reward model for a ppo run, as `train score` keeps it")
    ] = None,
    processes: Annotated[
        int,
        typer.Option(
            min=1,
            help="that train a ppo run together, its model shared out among them (torchrun): one per GPU",
        ),
    ] = 1,
) -> None:
    """Run one run of the trainer in the foreground; it brings its own sandboxes."""
    if kind == "presets":
        _list_methods()
        return
    if kind not in list(RunKind):
        raise NotFound("kind of run", kind, [*(str(one) for one in RunKind), "presets"])
    values = merge(_method(kind, preset), _read(config))
    if processes > 1 and kind != RunKind.PPO:
        raise InvalidField("--processes", f"several train a ppo run together, and this is {kind}")
    if reward_model is not None and kind != RunKind.PPO:
        raise InvalidField("--reward-model", f"it scores the turns of a ppo run, and this is {kind}")
    values = merge(values, overrides.parse(set_ or []))
    _run(RunKind(kind), values, policy, name, dataset, reward_model, processes)


def evaluate(config: ConfigFile = None, policy: PolicyIn = None, set_: EvalSet = None) -> None:
    """Measure a policy on held-out seeds."""
    _run(RunKind.EVALUATE, merge(_read(config), overrides.parse(set_ or [])), policy)


def _run(
    kind: RunKind,
    values: Mapping[str, Any],
    policy: str | None,
    name: str | None = None,
    dataset: str | None = None,
    reward_model: str | None = None,
    processes: int = 1,
) -> None:
    settings = load_settings()
    checked = check_asked(str(kind), values)
    if dataset is not None:
        _refuse_dataset_unread(kind, checked)
    if name is not None and (Path(name).name != name or name == ".."):
        raise InvalidField("--name", f"{name!r} has to be the name of a folder among the runs, e.g. first")
    folder = settings.runs / (name or f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}")
    spec = RunSpec(
        id=folder.name,
        kind=kind,
        config=values,
        store_url=settings.db_url,
        blobs_url=settings.blobs_url,
        near_frames=settings.near_frames,
        policy_in=None if policy is None else asyncio.run(_kept(policy)),
        prm_in=None if reward_model is None else asyncio.run(_kept(reward_model)),
        dataset=dataset,
        labels={"run": folder.name},
        sandboxes=as_json(settings.sandbox.lending),
    )
    _take(folder, spec)
    say(f"run {folder.name}: its log is {folder / 'log.txt'}")
    several = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    start = [sys.executable, *(several if processes > 1 else [])]
    command = [*start, "-m", "deskhand_trainer.run", str(folder)]
    status = run_in_foreground(command, folder, {**os.environ, logs.VARIABLE: settings.logs})
    result, error = read_result(folder), read_error(folder)
    if result is None and status > 128:
        goes_on = kind is not RunKind.EVALUATE
        say(f"stopped; the same command with --name {folder.name} goes on" if goes_on else "stopped")
        raise typer.Exit(status)
    if result is None:
        said = error.message if error else f"exit status {status}"
        raise RoundFailed(f"run {folder.name} did not finish: {said}")
    if result.policy_out:
        out.print(f"policy: {result.policy_out}")
    # lists of seeds and curves stand in the result
    figures = {name: value for name, value in result.metrics.items() if not isinstance(value, list | dict)}
    out.print(yaml.safe_dump(figures, sort_keys=False).strip())


def _refuse_dataset_unread(kind: RunKind, config: Any) -> None:
    """
    Raises:
        InvalidField: such a run learns from no dataset.
    """
    if kind in FROM_DATASETS or (kind is RunKind.PPO and config.by_store):
        return
    reading = "with rollouts=recorded, curriculum or value_pretraining.fitted_to=rollouts_and_stored"
    raise InvalidField(
        "--dataset", f"{', '.join(FROM_DATASETS)} learn from one, and ppo {reading}: this {kind} would not"
    )


def _take(folder: Path, spec: RunSpec) -> None:
    """Write the spec into a new folder, or into that of the same run if it goes on.

    Raises:
        InvalidField: it is another run's, which is finished or has begun.
        WrongState: the run is at work.
    """

    def busy() -> None:
        raise WrongState(f"run {spec.id} is at work already: wait for its end, or take another --name")

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold(folder, busy=busy):
        run = RunFolder(folder)
        if run.finished or (folder / "state.json").exists():
            _refuse_another(run, spec)
        if not run.finished:
            write_spec(folder, spec)


def _refuse_another(run: RunFolder, spec: RunSpec) -> None:
    before, now = run.spec(), read_spec(json.loads(json.dumps(asdict(spec))))
    other = [told for name, told in FIXED.items() if getattr(before, name) != getattr(now, name)]
    # training goes on with other settings; episodes and figures of several would be taken for those of one
    fixed = run.finished or spec.kind in (RunKind.COLLECT, RunKind.EVALUATE)
    if fixed and before.config != now.config:
        other.append("settings")
    if other:
        state = "is finished" if run.finished else "has begun"
        same = "" if run.finished else ", or go on with what it began with"
        raise InvalidField(
            "--name", f"run {spec.id} {state}, and differs in {' and '.join(other)}: take another name{same}"
        )


def _method(kind: str, preset: str | None) -> Mapping[str, Any]:
    if preset is None:
        return {}
    try:
        found = method(preset)
    except ConfigError as error:
        raise InvalidField("--preset", str(error)) from error
    if kind != found.kind:
        raise InvalidField("--preset", f"{preset} is a method of {found.kind}, and this is {kind}")
    return found.config


def _list_methods() -> None:
    lines = table("preset", "run", "what it does", "after")
    for each in map(method, method_names()):
        lines.add_row(each.name, each.kind, each.description, each.paper)
    out.print(lines)


async def _kept(policy: str) -> str:
    async with opened_store() as store:
        return (await store.policy_named(policy)).id


def _read(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        values = read_yaml(file.read_text())
    except OSError as error:
        raise InvalidField("--config", f"{file} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidField("--config", f"{file} cannot be read as YAML: {error}") from error
    if not isinstance(values, dict):
        raise InvalidField("--config", f"{file} must hold a mapping of settings")
    return cast("dict[str, Any]", values)
