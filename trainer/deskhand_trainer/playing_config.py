"""What can be said of runs that play episodes and learn nothing from them: collecting and evaluating."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from deskhand_agent.addresses import names_a_server
from deskhand_agent.endpoint.wire import Form
from deskhand_agent.test_time.settings import Deliberation
from deskhand_trainer.config_parsing import bounds

DEMO_TASK = "miniwob/click-collapsible-nodelay"
VOID_LIMIT = 1
"""Stricter than for tasks: a tiny model that has lost the grammar does not find back to it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectConfig:
    """Episodes into the store."""

    tasks: tuple[str, ...] = (DEMO_TASK,)
    """Task ids; held-out tasks are refused."""
    unproven: bool = False
    """Also tasks that nothing is known to solve."""
    policy: Literal["scripted", "local"] = "scripted"
    """"scripted" gives oracle demonstrations, "local" works with `RunSpec.policy_in`."""
    trees: bool = False
    """Oracles' screens are recorded with their accessibility trees, for policies whose `screens` have them; a
    policy's own are where it reads them."""
    episodes_per_task: int = field(default=256, metadata=bounds(1, 1_000_000))
    tries: int = field(default=1, metadata=bounds(1, 64))
    """At each of them: other replies from the same start state."""
    seed_offset: int = field(default=0, metadata=bounds(0))
    """Where in the train split's seeds to begin."""
    concurrency: int = field(default=8, metadata=bounds(1, 512))
    """Episodes at a time."""
    temperature: float = field(default=1.0, metadata=bounds(0, 10))
    max_tokens: int = field(default=24, metadata=bounds(1, 4096))
    void_limit: int = field(default=VOID_LIMIT, metadata=bounds(1))
    """Replies in a row without an action that end an episode."""
    decision_s: float = field(default=120.0, metadata=bounds(120))
    """Longest wait for one reply, others of its batch included."""
    seed: int = 0
    """Of the sampling."""
    engine: str = ""
    """http://HOST:PORT of a server that draws the replies of `RunSpec.policy_in`; none: this process does."""
    engine_form: Form = "sglang"
    """What the server speaks; `deskhand policies serve` speaks "sglang"."""
    executor: str = ""
    """Id of the policy that carries out the plans of one that plans; none: the one it was trained with."""
    user: str = ""
    """https://HOST/v1 of an OpenAI-compatible endpoint that plays the user; none: the task's details do."""
    user_model: str = ""
    """The name of its model."""

    def __post_init__(self) -> None:
        _refuse_models(self.engine, self.executor, self.policy)
        refuse_user(self.user, self.user_model)


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluateConfig:
    """Success on seeds used for nothing else."""

    tasks: tuple[str, ...] = (DEMO_TASK,)
    unproven: bool = False
    """Also tasks that nothing is known to solve."""
    episodes: int = field(default=256, metadata=bounds(1))
    """Per task and mode."""
    tries: int = field(default=1, metadata=bounds(1, 64))
    """At each of them where it samples; above 1 it is told, too, how many had a success (pass@k)."""
    split: Literal["test", "validation"] = "test"
    """Held-out tasks have test seeds only: their validation is by those far behind what is reported."""
    seed_offset: int = field(default=0, metadata=bounds(0))
    modes: tuple[Literal["sampled", "greedy"], ...] = ("sampled", "greedy")
    policy: Literal["scripted", "local"] = "local"
    targets: bool = True
    """Ask the page which element each click hit: right, wrong, miss."""
    temperature: float = field(default=1.0, metadata=bounds(0.05, 10))
    max_tokens: int = field(default=24, metadata=bounds(1, 4096))
    void_limit: int = field(default=VOID_LIMIT, metadata=bounds(1))
    """Replies in a row without an action that end an episode."""
    decision_s: float = field(default=120.0, metadata=bounds(120))
    """Longest wait for one reply, others of its batch included."""
    concurrency: int = field(default=16, metadata=bounds(1, 512))
    seed: int = 0
    """Of the sampling."""
    engine: str = ""
    """http://HOST:PORT of a server that draws the replies of `RunSpec.policy_in`; none: this process does."""
    engine_form: Form = "sglang"
    """What the server speaks; `deskhand policies serve` speaks "sglang"."""
    executor: str = ""
    """Id of the policy that carries out the plans of one that plans; none: the one it was trained with."""
    user: str = ""
    """As `CollectConfig.user`."""
    user_model: str = ""
    """The name of its model."""
    test_time: Deliberation = field(default_factory=Deliberation)
    """What is computed for a better turn or end."""

    def __post_init__(self) -> None:
        _refuse_models(self.engine, self.executor, self.policy)
        refuse_user(self.user, self.user_model)


def _refuse_models(engine: str, executor: str, policy: str) -> None:
    if engine and not names_a_server(engine):
        raise ValueError(f"engine {engine!r} is no http://HOST:PORT")
    if engine and policy != "local":
        raise ValueError(f"engine: the {policy} policy has no model whose replies a server could draw")
    if executor and policy != "local":
        raise ValueError(f"executor: the {policy} policy says no plans to carry out")


def addresses(engine: str) -> tuple[str, ...]:
    """Of the servers that an online run names."""
    return tuple(each.strip() for each in engine.split(",") if each.strip())


def refuse_servers(engine: str, engines: int) -> None:
    """Raises:
    ValueError: an address is none, one is named twice, or engines are counted beside them.
    """
    urls = addresses(engine)
    for url in urls:
        if not names_a_server(url):
            raise ValueError(f"engine {url!r} is no http://HOST:PORT")
    if len(set(urls)) < len(urls):
        raise ValueError("engine names a server twice, which has one set of weights: name each once")
    if urls and engines > 1:
        raise ValueError(
            f"engines: {engines} engines of the run's own, and engine names servers in their place: leave "
            "engines out, and name as many servers as there are to be"
        )


def refuse_user(user: str, model: str) -> None:
    """Raises:
    ValueError: the endpoint that plays the user is none, or one of it and its model is not given.
    """
    if user and not names_a_server(user):
        raise ValueError(f"user {user!r} is no https://HOST/v1")
    if bool(user) != bool(model):
        raise ValueError("user and user_model go together: give both, or neither")
