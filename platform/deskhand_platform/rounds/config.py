"""What a round is to do: one record, filled from a preset and the caller's overrides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, cast

from deskhand_flywheel.errors import InvalidRoutes
from deskhand_flywheel.routing import read_routes
from deskhand_platform.errors import InvalidField, NotFound
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.runs import RunKind

Config = Mapping[str, JsonValue]
RUN_FIELDS = {
    "collect": RunKind.COLLECT,
    "explore": RunKind.COLLECT,
    "label": RunKind.LABEL,
    "score": RunKind.SCORE,
    "sft": RunKind.SFT,
    "pretrain": RunKind.PRETRAIN,
    "rejection": RunKind.SFT,
    "ppo": RunKind.PPO,
    "evaluate": RunKind.EVALUATE,
}
"""Fields of a round that configure a run of the trainer, and its kind."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromoteConfig:
    """What decides whether the next round starts from a policy of this one."""

    gate: Literal["interval", "figure"] = "interval"
    """"interval": its success less that of the policies before has a 95 % interval above 0; "figure": its
    success is higher, be it by luck."""

    measure: Literal["sampled", "greedy"] = "sampled"
    """Which success rate is compared."""
    episodes: int = 128
    """Per task, on validation seeds: test seeds are for reporting and choose nothing. Held-out tasks have
    test seeds only: they are measured by those far behind what is reported."""
    tasks: tuple[str, ...] = ()
    """Tasks to measure on, held-out ones among them; none: those of `evaluate`. One that nothing is known to
    solve only with `evaluate.unproven`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundConfig:
    """A whole round. A phase that is None is left out."""

    description: str = ""
    """One line for lists."""
    start: str = "promoted"
    """"promoted": the last promoted policy, `base` when there is none; "untrained"; a policy's id; or
    "deskhand-tiny", the model of the package."""
    base: str = "untrained"
    """What the first round starts from: "untrained", "deskhand-tiny", or a policy's id."""
    collect: Config | None = None
    """Demonstrations for the warm start (`CollectConfig`); only when the round starts untrained."""
    explore: Config | None = None
    """Episodes with the policy as it is then (`CollectConfig`): what the process reward model learns from."""
    label: Config | None = None
    """Monte-Carlo labels of the round's own episodes (`LabelConfig`), for `score` to learn from where its
    `labels` name "monte-carlo"."""
    score: Config | None = None
    """Process reward model and its scores (`ScoreConfig`)."""
    sft: Config | None = None
    """Warm start (`SftConfig`); only when the round starts untrained."""
    pretrain: Config | None = None
    """Continued pretraining on what the round's failed episodes showed (`PretrainConfig`); only when the
    round starts from a policy."""
    rejection: Config | None = None
    """Rejection fine-tuning on the round's successful episodes (`SftConfig`); only when the round starts from
    a policy."""
    ppo: Config | None = None
    """Value pretraining and the online loop (`PpoConfig`)."""
    evaluate: Config | None = None
    """Unseen seeds, before and after every training phase (`EvaluateConfig`)."""
    promote: PromoteConfig = field(default_factory=PromoteConfig)
    routes: Config = field(default_factory=dict[str, JsonValue])
    """Which of the round's episodes go into which dataset, laid on the flywheel's own `routes.yaml`."""


def round_config(values: Mapping[str, Any], where: str = "") -> RoundConfig:
    """A config from plain values, every field checked.

    Raises:
        InvalidField: an unknown field or a value of the wrong shape; names it and the nearest.
    """
    known = {one.name for one in fields(RoundConfig)}
    for name in values:
        if name not in known:
            raise InvalidField(f"{where}{name}", str(NotFound("round field", name, known)))
    built: dict[str, Any] = dict(values)
    if "promote" in built:
        built["promote"] = _promote(built["promote"], where)
    for name in RUN_FIELDS:
        if built.get(name) is not None and not isinstance(built[name], Mapping):
            raise InvalidField(f"{where}{name}", "must be a mapping of that phase's settings, or null")
    routes = built.get("routes", {})
    if not isinstance(routes, Mapping):
        raise InvalidField(f"{where}routes", "must be a mapping of routes by name")
    try:
        read_routes(cast("Mapping[str, object]", routes))
    except InvalidRoutes as error:
        raise InvalidField(f"{where}routes", str(error)) from error
    for name in ("description", "start", "base"):
        if not isinstance(built.get(name, ""), str):
            raise InvalidField(f"{where}{name}", "must be text")
    return RoundConfig(**built)


def check_runs(config: RoundConfig) -> None:
    """Check the settings of every run as the trainer will.

    Raises:
        InvalidField: the trainer would refuse one; names the phase and the field.
    """
    if (config.ppo or {}).get("probe"):
        raise InvalidField("ppo.probe", "a round goes on from what it trains, and nothing may from a probe")
    for name in RUN_FIELDS:
        values = getattr(config, name)
        if values is not None:
            check_asked(name, values)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `over` laid on it: mappings merge field by field, everything else replaces."""
    merged = dict(base)
    for name, value in over.items():
        below = merged.get(name)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[name] = merge(cast(Mapping[str, Any], below), cast(Mapping[str, Any], value))
        else:
            merged[name] = value
    return merged


def as_json(config: RoundConfig) -> dict[str, JsonValue]:
    """The config as plain values, as `round_config` reads them."""
    values = asdict(config)
    values["promote"]["tasks"] = [*config.promote.tasks]
    return values


def _promote(values: object, where: str) -> PromoteConfig:
    if not isinstance(values, Mapping):
        raise InvalidField(f"{where}promote", "must be a mapping")
    given = cast(Mapping[str, Any], values)
    known = {one.name for one in fields(PromoteConfig)}
    for name in given:
        if name not in known:
            raise InvalidField(f"{where}promote.{name}", str(NotFound("field", name, known)))
    for name, choices in (("measure", ("sampled", "greedy")), ("gate", ("interval", "figure"))):
        if given.get(name, choices[0]) not in choices:
            raise InvalidField(f"{where}promote.{name}", f"must be {' or '.join(choices)}")
    episodes = given.get("episodes", 1)
    if isinstance(episodes, bool) or not isinstance(episodes, int) or not 1 <= episodes <= 100_000:
        raise InvalidField(f"{where}promote.episodes", "must be a whole number from 1 to 100000")
    tasks = given.get("tasks", ())
    if not isinstance(tasks, list | tuple) or not all(
        isinstance(one, str) for one in cast("list[Any]", tasks)
    ):
        raise InvalidField(f"{where}promote.tasks", "must be a list of task ids")
    chosen: dict[str, Any] = {**given, "tasks": tuple(cast("list[str]", tasks))}
    return PromoteConfig(**chosen)


def check_phase(name: str, values: Config) -> Any:
    """One run's settings, checked as the trainer will: its config.

    Args:
        name: of a round's phase, or a kind of run.

    Raises:
        InvalidField: the trainer would refuse them.
    """
    from deskhand_trainer.config import parse_config
    from deskhand_trainer.errors import ConfigError

    try:
        return parse_config(run_record(name), values, path=f"{name}.")
    except ConfigError as error:
        raise InvalidField(error.field or name, str(error)) from error


def check_asked(name: str, values: Config) -> Any:
    """As `check_phase`, of what is asked for now; what has begun goes on as it is.

    Raises:
        InvalidField: as `check_phase`, or ε of PPO are left to a ratio that they are not for.
    """
    from deskhand_trainer.clip_config import refuse_borrowed_clip
    from deskhand_trainer.errors import ConfigError

    told = check_phase(name, values)
    if name == RunKind.PPO:
        try:
            refuse_borrowed_clip(values, path="ppo.")
        except ConfigError as error:
            raise InvalidField(error.field, str(error)) from error
    return told


def run_record(name: str) -> type[Any]:
    """The config record of one of a round's phases, or of a kind of run."""
    # here and not above: the trainer's records come with much else, which takes seconds
    from deskhand_trainer import config
    from deskhand_trainer.run import CONFIGS

    return getattr(config, CONFIGS[RUN_FIELDS.get(name) or RunKind(name)])
