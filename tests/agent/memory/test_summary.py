"""Summaries of the agent's own in place of past turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.episode import run_episode
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import build_tiny
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.models.prompting import decode_reply, tokenise_reply
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.prompt import SUMMARISE, build_prompt, summary_due
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Step, StepTimings, StopReason
from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Limits, Split, TypeText

MEMORY = WindowMemory(summary_after=2, summary_tokens=7)
PRESS = replace(make_task("fake/press-button", 3), limits=Limits(turns=8))


def step(stub: SimpleNamespace, index: int, said: str, *, summary: bool = False) -> Step:
    actions = () if summary else (TypeText(text=said),)
    return Step(
        index=index,
        observation=stub.observation(f"s{index}"),
        decision=Decision(actions=actions, text=said, summary=said if summary else None),
        reward=0.0,
        timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=1.0,
    )


def context(stub: SimpleNamespace, steps: Sequence[Step]) -> Context:
    return Context(task=stub.task(), instruction="Do it.", steps=tuple(steps), observation=stub.observation())


def text_of(shown: Context, memory: WindowMemory, *, summarise: bool = False) -> str:
    messages = build_prompt(
        shown, memory=memory, coordinates=CoordinateSystem(), asking=SUMMARISE if summarise else ""
    )
    return "".join(each.text for each in messages)


def test_one_is_due_after_so_many_turns_and_again_after_as_many_more(stub: SimpleNamespace) -> None:
    steps: list[Step] = []
    due: list[bool] = []
    for index in range(8):
        due.append(summary_due(context(stub, steps), MEMORY))
        steps.append(step(stub, index, f"turn {index}", summary=due[-1]))
    assert due == [False, False, True, False, False, True, False, False]
    assert not summary_due(context(stub, steps[:2]), WindowMemory())


@pytest.mark.parametrize("screens", [1, 3])
def test_it_stands_in_place_of_the_turns_before_and_of_no_other(stub: SimpleNamespace, screens: int) -> None:
    steps = [
        step(stub, 0, "first"),
        step(stub, 1, "second"),
        step(stub, 2, "I did two things", summary=True),
        step(stub, 3, "third"),
    ]
    memory = WindowMemory(summary_after=2, n_screenshots=screens)
    shown = text_of(context(stub, steps), memory)
    assert "Your summary of what was before:\nI did two things\n" in shown
    assert shown.count("I did two things") == 1
    assert "first" not in shown and "second" not in shown and "third" in shown
    before = text_of(context(stub, steps[:2]), memory, summarise=True)
    assert "first" in before and "second" in before and before.endswith(SUMMARISE)
    assert SUMMARISE not in shown


def test_what_a_window_without_summaries_shows_is_what_it_was(stub: SimpleNamespace) -> None:
    steps = [step(stub, index, f"turn {index}") for index in range(3)]
    now = context(stub, steps)
    assert text_of(now, WindowMemory()) == text_of(now, WindowMemory(summary_after=9))


@pytest.mark.parametrize("wrong", [{"summary_after": -1}, {"summary_tokens": 0}])
def test_senseless_ones_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"summary_after is .* give 0 or more turns"):
        replace(WindowMemory(), **wrong)


def test_they_name_the_processor_only_where_they_are_asked_for() -> None:
    bundle = build_tiny(TinyConfig())
    plain = bundle.processor_hash
    for memory, same in ((WindowMemory(summary_tokens=9), True), (MEMORY, False)):
        other = bundle.clone()
        other.memory = memory
        assert (other.processor_hash == plain) is same


class Alternates:
    """An engine that clicks nowhere, and sums up where it may write no more than a summary has."""

    def __init__(self, click: tuple[int, ...], summary: tuple[int, ...]) -> None:
        self.replies = {False: click, True: summary}
        self.requests: list[CompletionRequest] = []

    async def generate(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        ids = self.replies[request.sampling.max_tokens == MEMORY.summary_tokens]
        return Completion(
            ids=ids,
            logprobs=(-0.5,) * len(ids),
            finish_reason=FinishReason.STOP,
            policy_id="p",
            policy_update=0,
        )


async def test_the_policy_writes_them_in_the_episode_and_they_are_no_turns_of_the_task() -> None:
    bundle = build_tiny(TinyConfig())
    bundle.memory = MEMORY
    says = Alternates(
        tokenise_reply(bundle, "click(point='<point>0 0</point>')"), tokenise_reply(bundle, " nothing yet ")
    )
    policy = LocalPolicy(bundle=bundle, engine=says, sampling=Sampling(max_tokens=24))
    done = await run_episode(
        PRESS,
        sandbox=FakeSandbox({}),
        policy=policy,
        verifier=create_verifier(PRESS.verifier),
        sink=MemorySink(),
        split=Split.TRAIN,
        void_limit=1,
    )
    assert done.end is not None and done.end.stop_reason is StopReason.TURN_LIMIT
    turns = [each for each in done.steps if each.decision.summary is None]
    assert len(turns) == PRESS.limits.turns
    assert all(isinstance(each.decision.actions[0], Click) for each in turns)
    summaries = [each.index for each in done.steps if each.decision.summary == "nothing yet"]
    assert summaries == list(range(2, len(done.steps), 3)) and summaries
    first = done.steps[summaries[0]].decision
    assert first.trainable and first.request is says.requests[2] and first.completion is not None
    assert first.completion.ids == says.replies[True] and not first.void
    assert "nothing yet" in decode_reply(bundle, says.requests[3].prompt_ids)
    lengths = [len(each.prompt_ids) for each in says.requests]
    assert len(lengths) >= 9 and lengths[3:6] == lengths[6:9]  # the history does not grow


async def test_the_local_engine_gives_a_summary_its_own_length() -> None:
    bundle = build_tiny(TinyConfig())
    bundle.memory = MEMORY
    engine = LocalEngine(bundle, policy_id="p")
    try:
        policy = LocalPolicy(bundle=bundle, engine=engine, sampling=Sampling(max_tokens=3))
        sandbox = FakeSandbox({})
        ready = await sandbox.reset(PRESS)
        done = tuple(
            Step(
                index=index,
                observation=ready.observation,
                decision=Decision(actions=(Click(x=0, y=0),), text=""),
                reward=0.0,
                timings=StepTimings(model_ms=0, act_ms=0, settle_ms=0),
                finished_at_s=0.0,
            )
            for index in range(2)
        )
        now = Context(task=PRESS, instruction="Press it.", steps=done, observation=ready.observation)
        decision = await policy.act(now)
    finally:
        engine.close()
    assert decision.summary is not None and decision.request is not None and decision.completion is not None
    assert decision.request.sampling.max_tokens == 7 >= len(decision.completion.ids)
