"""A policy that plans, and a frozen one that acts on its plans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deskhand_agent.accounts import spent
from deskhand_agent.episode import run_episode
from deskhand_agent.errors import InferenceError
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle, build_tiny, load_bundle, save_bundle
from deskhand_agent.models.prompting import decode_reply, tokenise_reply
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.prompt import PLAN, SUMMARISE
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, StopReason, Trajectory
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Press, Split

CHAIN = make_task("worlds/chain", 0)
RIGHT = "hotkey(key='right')"


class Says:
    """An engine with one reply after another; the last one for ever."""

    def __init__(self, bundle: ModelBundle, policy_id: str, *replies: str) -> None:
        self.replies = [tokenise_reply(bundle, text) for text in replies]
        self.requests: list[CompletionRequest] = []
        self.policy_id = policy_id

    async def generate(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        ids = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return Completion(
            ids=ids, logprobs=(-0.25,) * len(ids), finish_reason=FinishReason.STOP,
            policy_id=self.policy_id, policy_update=7,
        )  # fmt: skip


@pytest.fixture
def bundle() -> ModelBundle:
    found = build_tiny(TinyConfig())
    found.memory = WindowMemory(screens="text")
    return found


def planning(bundle: ModelBundle, **more: int) -> ModelBundle:
    planner = bundle.clone()
    planner.memory = WindowMemory(screens="text", plan_tokens=9, **more)
    return planner


async def work(planner: LocalPolicy, *, turns: int = 12) -> Trajectory:
    task = replace(CHAIN, limits=replace(CHAIN.limits, turns=turns))
    return await run_episode(
        task, sandbox=WorldSandbox(), policy=planner, verifier=create_verifier(task.verifier),
        sink=MemorySink(), split=Split.TRAIN, void_limit=2,
    )  # fmt: skip


async def test_the_plan_is_the_policys_own_and_the_action_the_executors(bundle: ModelBundle) -> None:
    """Golden: what each of them is shown, what is learned, what is done, and whose it was."""
    plans, acts = Says(bundle, "p", " one step\nright "), Says(bundle, "e", RIGHT)
    executor = LocalPolicy(bundle=bundle, engine=acts, policy_id="frozen")
    policy = LocalPolicy(
        bundle=planning(bundle), engine=plans, policy_id="planner", executor=executor,
        sampling=Sampling(max_tokens=24, temperature=0.5),
    )  # fmt: skip
    done = await work(policy)
    assert done.end is not None and done.end.outcome is not None and done.end.outcome.success
    assert done.start.policy_id == "planner"
    for step, planned, acted in zip(done.steps, plans.requests, acts.requests, strict=True):
        decision, execution = step.decision, step.decision.execution
        assert decision.trainable and decision.request is planned and decision.completion is not None
        assert (decision.completion.policy_id, decision.completion.policy_update) == ("p", 7)
        assert decision.completion.ids == plans.replies[0]
        assert len(decision.completion.logprobs) == len(plans.replies[0])
        assert decision.text == " one step\nright " and decision.actions == (Press(keys=("ArrowRight",)),)
        assert execution is not None and execution.completion is not None
        assert (execution.plan, execution.policy_id, execution.text) == ("one step right", "frozen", RIGHT)
        assert execution.completion.ids == acts.replies[0]
        assert (planned.sampling.max_tokens, planned.sampling.temperature) == (9, 0.5)
        told = decode_reply(bundle, acted.prompt_ids)
        assert "one step right" in told and PLAN not in told
        assert step.observation.terminal and step.observation.terminal in told
    shown = [decode_reply(bundle, request.prompt_ids) for request in plans.requests]
    assert all(done.start.instruction in each and PLAN in each for each in shown)
    assert "one step" not in shown[0] and f"1. one step right -> done: {RIGHT}" in shown[1]
    # the executor is told the plan alone: no instruction, nothing of what was before
    tellings = [decode_reply(bundle, request.prompt_ids) for request in acts.requests]
    assert not any(done.start.instruction in each or "done:" in each for each in tellings)


async def test_a_turn_costs_what_planner_and_executor_do(bundle: ModelBundle) -> None:
    plans, acts = Says(bundle, "p", "one step right"), Says(bundle, "e", RIGHT)
    executor = LocalPolicy(bundle=bundle, engine=acts)
    done = await work(LocalPolicy(bundle=planning(bundle), engine=plans, executor=executor))
    for step, planned, acted in zip(done.steps, plans.requests, acts.requests, strict=True):
        assert spent(step.decision) == {
            "prompt_tokens": len(planned.prompt_ids) + len(acted.prompt_ids),
            "completion_tokens": len(plans.replies[0]) + len(acts.replies[0]),
        }


class Down:
    id = "down"

    async def act(self, context: Context) -> Decision:
        raise InferenceError("down", cost={"usd": 1.0, "prompt_tokens": 2.0})


async def test_a_plan_whose_executor_fails_has_cost_something(bundle: ModelBundle) -> None:
    plans = Says(bundle, "p", "one step right")
    planner = LocalPolicy(bundle=planning(bundle), engine=plans, executor=Down())
    seen = (await WorldSandbox().reset(CHAIN)).observation
    with pytest.raises(InferenceError) as caught:
        await planner.act(Context(task=CHAIN, instruction="Go", steps=(), observation=seen))
    assert caught.value.cost == {
        "prompt_tokens": len(plans.requests[0].prompt_ids) + 2.0,
        "completion_tokens": len(plans.replies[0]),
        "usd": 1.0,
    }


async def test_a_plan_that_nothing_came_of_is_a_void_turn_and_says_why(bundle: ModelBundle) -> None:
    plans, acts = Says(bundle, "p", "dance"), Says(bundle, "e", "I do not know.")
    executor = LocalPolicy(bundle=bundle, engine=acts)
    done = await work(LocalPolicy(bundle=planning(bundle), engine=plans, executor=executor))
    assert done.end is not None and done.end.stop_reason is StopReason.VOID_LIMIT and len(done.steps) == 2
    assert done.steps[0].decision.error is not None
    assert "1. dance -> done: (no action) error: " in decode_reply(bundle, plans.requests[1].prompt_ids)


async def test_a_planner_sums_up_by_itself(bundle: ModelBundle) -> None:
    plans, acts = Says(bundle, "p", "go", "one step done", "go"), Says(bundle, "e", RIGHT)
    executor = LocalPolicy(bundle=bundle, engine=acts)
    memory = planning(bundle, summary_after=1, summary_tokens=5)
    done = await work(LocalPolicy(bundle=memory, engine=plans, executor=executor), turns=2)
    assert [step.decision.summary for step in done.steps] == [None, "one step done", None]
    assert [step.decision.execution is None for step in done.steps] == [False, True, False]
    assert [request.sampling.max_tokens for request in plans.requests] == [9, 5, 9]
    assert SUMMARISE in decode_reply(bundle, plans.requests[1].prompt_ids)
    assert len(acts.requests) == 2


@pytest.mark.parametrize("plans", [True, False])
def test_who_plans_needs_an_executor_and_nobody_else_has_one(bundle: ModelBundle, plans: bool) -> None:
    engine = Says(bundle, "p", "go")
    executor = None if plans else LocalPolicy(bundle=bundle, engine=engine)
    with pytest.raises(ValueError, match="a model that plans needs an executor"):
        LocalPolicy(bundle=planning(bundle) if plans else bundle, engine=engine, executor=executor)
    with pytest.raises(ValueError, match="plan_tokens is -1"):
        WindowMemory(plan_tokens=-1)


def test_a_planner_stays_one_and_names_another_processor(bundle: ModelBundle, tmp_path: Path) -> None:
    planner = planning(bundle)
    save_bundle(planner, tmp_path / "planner")
    loaded = load_bundle(tmp_path / "planner")
    assert loaded.memory == planner.memory and loaded.processor_hash == planner.processor_hash
    assert planner.processor_hash != bundle.processor_hash
    plain = bundle.clone()
    plain.memory = WindowMemory(screens="text", plan_tokens=0)
    assert plain.processor_hash == bundle.processor_hash
