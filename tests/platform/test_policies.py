"""Policies by name, and the model that comes with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import build_tiny, load_bundle, save_bundle
from deskhand_agent.models.engine import EngineSettings
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.openai import OpenAIPolicy
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_agent.test_time.deliberating import Deliberate
from deskhand_agent.test_time.sampling import ManySamples
from deskhand_agent.types import Context, Decision, Policy
from deskhand_flywheel.errors import UnknownPolicy
from deskhand_flywheel.prm.model import ScoreHead, hidden_width, save_reward_model
from deskhand_flywheel.store import Store
from deskhand_platform import policies
from deskhand_platform.errors import InvalidField
from deskhand_platform.loaded_models import LoadedModels, SharedEngine
from deskhand_platform.policies import PolicyMaker
from deskhand_platform.task_orders import PolicyRef
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Observation

TASK = make_task("store/buy-asking", 0)
SEEN = Observation(screenshot=as_image(b"picture", (100, 80)), captured_at_s=1.0, settled_ms=1.0)


async def test_the_model_of_the_package_is_kept_once(store: Store, packaged: Path, tmp_path: Path) -> None:
    kept = await store.policy_named(DESKHAND_TINY)
    assert await store.policy_named(DESKHAND_TINY) == kept == await store.policy_named(kept.id)
    assert await store.policies() == (kept,)
    assert (kept.parent_id, kept.metadata) == (None, {"name": DESKHAND_TINY})
    bundle = load_bundle(await store.materialise_policy(kept.id, tmp_path / "copy"))
    assert bundle.processor_hash == load_bundle(packaged).processor_hash
    with pytest.raises(UnknownPolicy):
        await store.policy_named("deskhand-tin")


async def test_a_task_for_a_local_policy_gets_it_where_it_names_none(
    store: Store, packaged: Path, tmp_path: Path
) -> None:
    make = PolicyMaker(store, tmp_path / "policies").make
    policy = await make(PolicyRef(name="local", settings={}))
    assert isinstance(policy, LocalPolicy)
    assert policy.id == (await store.policy_named(DESKHAND_TINY)).id
    named = await make(PolicyRef(name="local", settings={"policy_id": DESKHAND_TINY}))
    assert isinstance(named, LocalPolicy) and named.id == policy.id
    by_path = await make(PolicyRef(name="local", settings={"path": str(packaged)}))
    assert isinstance(by_path, LocalPolicy) and by_path.id == "package"
    with pytest.raises(InvalidField, match="there are: policy_id"):
        await make(PolicyRef(name="local", settings={"polcy_id": "x"}))


async def test_a_policy_that_plans_comes_with_who_acts_on_its_plans(store: Store, tmp_path: Path) -> None:
    async def kept(plan_tokens: int, folder: str, **metadata: str) -> str:
        bundle = build_tiny(TinyConfig(seed=plan_tokens))
        bundle.memory = WindowMemory(plan_tokens=plan_tokens)
        save_bundle(bundle, tmp_path / folder)
        return (await store.keep_policy(tmp_path / folder, parent_id=None, metadata=dict(metadata))).id

    async def executor_of(**settings: str) -> str | None:
        policy = await make(PolicyRef(name="local", settings=settings))
        acting = getattr(policy, "_executor")  # noqa: B009
        return None if acting is None else acting.id

    make = PolicyMaker(store, tmp_path / "policies").make
    acts, other = await kept(0, "acts"), await kept(0, "other", name="other")
    plans, alone = await kept(5, "plans", executor=acts), await kept(6, "alone")
    assert await executor_of(policy_id=acts) is None
    assert await executor_of(policy_id=plans) == acts
    assert await executor_of(policy_id=plans, executor=other) == other
    assert await executor_of(path=str(tmp_path / "plans"), executor=acts) == acts
    for settings, why in (
        ({"policy_id": alone}, "the policy plans: name one of the store"),
        ({"path": str(tmp_path / "plans")}, "the policy plans: name one of the store"),
        ({"policy_id": plans, "executor": alone}, f"{alone} plans too"),
    ):
        with pytest.raises(InvalidField, match=why):
            await executor_of(**settings)
    with pytest.raises(UnknownPolicy):
        await executor_of(policy_id=plans, executor="policy-none")


async def test_of_models_nobody_acts_with_the_one_used_longest_ago_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    class Engine:
        def __init__(self, bundle: object, *, policy_id: str, settings: EngineSettings) -> None:
            self.policy_id = policy_id
            assert settings.deadline_s == 900.0

        def close(self) -> None:
            ended.append(self.policy_id)

    monkeypatch.setattr("deskhand_agent.models.engine.LocalEngine", Engine)
    monkeypatch.setattr("deskhand_agent.models.bundle.load_bundle", Path.name.fget)
    models = LoadedModels(2, decision_s=900.0)

    async def get(name: str) -> SharedEngine:
        bundle, engine = await models.get(tmp_path / name, name)
        assert bundle == name
        return engine

    acting = await get("a")
    for name in ("b", "a", "c"):
        await get(name)
    assert ended == ["b"]  # b was used before a, which acts, too
    both = [acting, await get("c")]
    third = await get("d")
    assert ended == ["b"]  # all are in use
    del both, third
    await get("b")
    assert ended == ["b", "c", "d"]
    await get("a")
    del acting
    await get("e")
    assert ended == ["b", "c", "d", "b"]


def connections(policy: Policy) -> object:
    return getattr(policy, "_client")  # noqa: B009


async def test_of_policies_behind_an_api_those_used_longest_ago_are_closed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    class Behind:
        def __init__(self, model: str) -> None:
            self.id = model

        async def close(self) -> None:
            closed.append(self.id)

        async def act(self, context: Context) -> Decision:
            raise AssertionError

    async def make(model: str) -> Policy:
        return await maker.make(PolicyRef(name="x", settings={"model": model}))

    monkeypatch.setattr(policies, "create_policy", lambda _, model: Behind(model))
    monkeypatch.setattr(policies, "KEPT", 2)
    maker = PolicyMaker(store, tmp_path / "policies")
    acting = await make("a")
    for model in ("b", "c", "b", "d", "e"):
        await make(model)
    assert closed == ["b", "c", "b", "d"]
    del acting
    await make("f")
    assert closed == ["b", "c", "b", "d", "a"]
    await maker.close()
    assert closed[5:] == ["e", "f"]


async def test_a_policy_behind_an_api_is_made_once_for_alike_tasks(store: Store, tmp_path: Path) -> None:
    maker = PolicyMaker(store, tmp_path / "policies")
    wanted = {"model": "m", "base_url": "http://127.0.0.1:9", "requests_per_minute": 3}
    first = await maker.make(PolicyRef(name="anthropic_computer", settings=wanted))
    alike = await maker.make(PolicyRef(name="anthropic_computer", settings=dict(reversed(wanted.items()))))
    assert connections(alike) is connections(first)
    other = await maker.make(PolicyRef(name="anthropic_computer", settings=wanted | {"model": "n"}))
    assert connections(other) is not connections(first)
    remembering = PolicyRef(name="openai", settings=wanted | {"memory": {"n_screenshots": 2}})
    policy = await maker.make(remembering)
    assert isinstance(policy, OpenAIPolicy)
    assert policy.settings.memory == WindowMemory(n_screenshots=2, text_bytes=32_768)
    reading = await maker.make(PolicyRef(name="openai", settings=wanted | {"memory": {"screens": "tree"}}))
    assert isinstance(reading, OpenAIPolicy)
    assert reading.settings.memory == WindowMemory(n_screenshots=3, text_bytes=32_768, screens="tree")
    for wrong in ({"memory": {"n_screenshots": 0}}, {"memory": {"n": 1}}, {"retries": -1}, {"colour": "red"}):
        with pytest.raises(InvalidField):
            await maker.make(PolicyRef(name="openai", settings=wanted | wrong))
    await maker.close()
    with pytest.raises(RuntimeError, match="closed"):
        await policy.act(Context(task=TASK, instruction="x", steps=(), observation=SEEN))


async def test_settings_say_what_is_computed_at_test_time(
    store: Store, packaged: Path, tmp_path: Path
) -> None:
    bundle = load_bundle(packaged)
    save_reward_model(bundle, ScoreHead(hidden_width(bundle)), tmp_path / "prm")
    judge = (await store.keep_policy(tmp_path / "prm", parent_id=None, metadata={})).id
    maker = PolicyMaker(store, tmp_path / "policies")

    async def made(name: str = "local", **settings: object) -> Deliberate:
        return await maker.deliberate(PolicyRef(name=name, settings=settings))  # type: ignore[arg-type]

    plain = await made()
    assert isinstance(plain.policy, LocalPolicy) and (plain.attempts, plain.self_check) == (1, None)
    best = await made(temperature=1.0, test_time={"samples": 4, "choose": "judge", "judge": judge})
    assert isinstance(best.policy, ManySamples) and best.policy.id == plain.policy.id
    careful = await made(test_time={"checks": 1, "attempts": 2, "turns": 9})
    assert careful.policy is not None and (careful.attempts, careful.turns) == (2, 9)
    assert careful.self_check is not None and careful.self_check.doubts == 1
    asked = await made("openai", model="m", base_url="http://127.0.0.1:9/v1", test_time={"checks": 1})
    assert asked.self_check is not None
    greedy = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "temperature": 0.0}
    for name, alone, why in (
        ("scripted", {}, "the scripted policy draws no replies"),
        ("person", {}, "the person policy draws no replies"),
        ("openai", greedy, "at 0 it says the same each time"),
    ):
        with pytest.raises(InvalidField, match=why):
            await made(name, **alone, test_time={"samples": 2})
    await maker.close()
    for settings, error, why in (
        ({"test_time": {"samples": 4}}, InvalidField, "at 0 it says the same each time"),
        ({"test_time": 4}, InvalidField, "expected an object"),
        ({"test_time": {"sample": 4}}, InvalidField, "sample"),
        ({"test_time": {"attempts": 0}}, InvalidField, "attempts is 0"),
        ({"test_time": {"checks": 1, "check": "judge", "judge": "none"}}, UnknownPolicy, "none"),
    ):
        with pytest.raises(error, match=why):
            await made(**settings)
    with pytest.raises(InvalidField, match=r"policy\.settings\.test_time: .*answers no questions"):
        await made("scripted", test_time={"checks": 1})


async def test_a_task_may_ask_for_a_notebook_where_its_policy_writes(store: Store, tmp_path: Path) -> None:
    maker = PolicyMaker(store, tmp_path / "policies", notes=tmp_path / "notes")
    asked = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}

    async def made(name: str, **settings: object) -> Deliberate:
        return await maker.deliberate(PolicyRef(name=name, settings=settings))  # type: ignore[arg-type]

    writes = {**asked, "memory": {"strategy": "constant"}}
    assert (await made("openai", **writes)).notebook is None
    assert (await made("openai", **writes, notebook=False)).notebook is None
    assert (await made("openai", **writes, notebook=True)).notebook is not None
    with pytest.raises(InvalidField, match="a window writes nothing"):
        await made("openai", **asked, notebook=True)
    with pytest.raises(InvalidField, match="no memory"):
        await made("scripted", notebook=True)
    await maker.close()
