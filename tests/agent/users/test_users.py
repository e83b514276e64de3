"""Who may be asked in an episode, and that asking pays."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from deskhand_agent.episode import TRY_AGAIN, run_episode
from deskhand_agent.errors import EndpointError
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import build_tiny
from deskhand_agent.models.prompting import decode_reply, tokenise_reply
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Policy, Trajectory
from deskhand_agent.users import (
    ENOUGH,
    NOBODY,
    SILENT,
    UNREACHABLE,
    UP_TO_YOU,
    Conversation,
    Question,
    Reply,
    User,
    by_rule,
)
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.oracles import next_actions
from deskhand_sandbox.types import Action, AskUser, Limits, Press, Split, Task, TypeText

BANDIT = make_task("worlds/bandit-asking", 0)
DETAILS = {"color": "red", "shoe size": "42"}


def question(text: str, details: Mapping[str, str] = DETAILS) -> Question:
    return Question(text=text, task=replace(BANDIT, details=details), instruction="Buy shoes.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Which color?", "color: red"),
        ("COLORS, please", "color: red"),
        ("What size do you want?", UP_TO_YOU),
        ("What are the size and color of the shoe?", "color: red, shoe size: 42"),
        ("", "color: red, shoe size: 42"),
        ("?!", "color: red, shoe size: 42"),
        ("Is it urgent?", UP_TO_YOU),
    ],
)
async def test_by_rule_only_what_is_asked_for_is_said(text: str, said: str) -> None:
    assert await by_rule(question(text)) == Reply(text=said)


async def test_a_task_without_details_has_nobody_to_ask() -> None:
    assert await by_rule(question("Which color?", {})) == Reply(text=NOBODY)


async def work(task: Task, policy: Policy, user: User = by_rule, **more: int) -> Trajectory:
    return await run_episode(
        task, sandbox=WorldSandbox(), policy=policy, verifier=create_verifier(task.verifier),
        sink=MemorySink(), split=Split.TRAIN, user=user, **more,
    )  # fmt: skip


class Does:
    """One list of actions after another."""

    id = "does"

    def __init__(self, *turns: tuple[Action, ...] | Decision) -> None:
        self.turns, self.seen = list(turns), list[Context]()

    async def act(self, context: Context) -> Decision:
        self.seen.append(context)
        turn = self.turns.pop(0)
        return turn if isinstance(turn, Decision) else Decision(actions=turn, text="does")


async def test_questions_are_bounded_over_the_turns_and_attempts_of_an_episode() -> None:
    ask, wrong = AskUser(question="Which arm?"), Press(keys=("1",))
    assert BANDIT.details == {"arm": "4"}
    task = replace(BANDIT, limits=Limits(turns=4, questions=3))
    policy = Does((ask, ask), (wrong,), (ask, ask), (Press(keys=("4",)),))
    done = await work(task, policy, attempts=2)
    assert [step.answer for step in done.steps] == [
        "arm: 4 arm: 4",
        TRY_AGAIN,
        f"arm: 4 {ENOUGH}",
        None,
    ]
    assert done.end is not None and done.end.outcome is not None and done.end.outcome.success


async def test_an_earlier_life_of_the_episode_counts() -> None:
    first = await work(BANDIT, Does((AskUser(question="Which?"),), (Press(keys=("1",)),)))
    heard: list[Question] = []

    async def user(asked: Question) -> Reply:
        heard.append(asked)
        return Reply(text="Four.")

    task = replace(BANDIT, limits=Limits(questions=2))
    talk = Conversation(user, task, "Pull it.", answer_s=1.0, earlier=first.steps)
    assert await talk.ask("Sure?", remaining_s=1.0) == Reply(text="Four.")
    assert await talk.ask("Really?", remaining_s=1.0) == Reply(text=ENOUGH)
    (only,) = heard
    assert (only.before, only.instruction) == ((("Which?", UP_TO_YOU),), "Pull it.")


@pytest.mark.parametrize(
    ("how", "note"), [("breaks", UNREACHABLE), ("sleeps", SILENT), ("says nothing", SILENT)]
)
async def test_a_user_who_does_not_answer_ends_no_episode(how: str, note: str) -> None:
    cost = {} if how == "sleeps" else {"usd": 0.5}

    async def user(asked: Question) -> Reply:
        if how == "breaks":
            raise EndpointError("no such model", status=404, cost=cost)
        if how == "sleeps":
            await asyncio.Event().wait()
        return Reply(text="", cost=cost)

    talk = Conversation(user, BANDIT, "", answer_s=0.05, earlier=())
    assert await talk.ask("Which arm?", remaining_s=9.0) == Reply(text=note, cost=cost)
    assert await talk.ask("Which arm?", remaining_s=0.01) == Reply(text=note, cost=cost)


async def test_what_answers_cost_is_the_turn_s_that_asked() -> None:
    async def user(asked: Question) -> Reply:
        if asked.before:
            raise EndpointError("gone", cost={"usd": 0.25, "timeout": 1.0})
        return Reply(text="Four.", cost={"usd": 0.5, "completion_tokens": 3.0})

    ask, pull = AskUser(question="Which arm?"), Press(keys=("4",))
    paid = Decision(actions=(ask, ask), text="does", cost={"usd": 2.0})
    done = await work(BANDIT, Does(paid, (pull,)), user)
    asked, acted = done.steps
    assert asked.answer == f"Four. {UNREACHABLE}"
    assert asked.decision.cost == {"usd": 2.75, "completion_tokens": 3.0, "timeout": 1.0}
    assert acted.decision.cost == {}


async def test_the_reply_is_shown_in_the_next_turn_and_nobody_is_told_before() -> None:
    """Token in, token out: what the user said stands in the next prompt's ids, never in a reply's."""
    bundle = build_tiny(TinyConfig())
    bundle.memory = WindowMemory(screens="text")
    replies = [
        tokenise_reply(bundle, text) for text in ("call_user(content='Which arm?')", "hotkey(key='4')")
    ]
    said = list(replies)

    class Says:
        async def generate(self, request: CompletionRequest) -> Completion:
            ids = said.pop(0)
            return Completion(
                ids=ids, logprobs=(-0.5,) * len(ids), finish_reason=FinishReason.STOP,
                policy_id="p", policy_update=0,
            )  # fmt: skip

    async def user(asked: Question) -> Reply:
        return Reply(text="the fourth one", cost={"completion_tokens": 4.0})

    done = await work(BANDIT, LocalPolicy(bundle=bundle, engine=Says()), user)
    assert done.end is not None and done.end.outcome is not None and done.end.outcome.success
    asked, acted = (step.decision for step in done.steps)
    assert asked.request is not None and acted.request is not None
    shown = [decode_reply(bundle, each.request.prompt_ids) for each in (asked, acted) if each.request]
    assert "fourth" not in shown[0] and "-> user: the fourth one" in shown[1]
    assert [each.completion.ids for each in (asked, acted) if each.completion] == replies
    assert asked.trainable and acted.trainable
    assert asked.cost["completion_tokens"] == len(replies[0]) + 4.0 and not acted.cost


class Guesses:
    """An oracle of everything but what the user has to be asked: that it chooses itself."""

    id = "guesses"
    reads_state = True

    async def act(self, context: Context) -> Decision:
        task, sandbox = context.task, context.sandbox
        assert sandbox is not None
        if task.id == "worlds/bandit-asking":
            return Decision(actions=(Press(keys=("2",)),), text="")
        goal = task.environment.settings["goal"]
        assert isinstance(goal, dict)
        terminal = context.observation.terminal or ""
        # the first of each option that the page of the goods shows, then the purchase
        chosen = sum("click" in str(step.decision.text) for step in context.steps)
        if "[Buy now]" in terminal:
            rows = [line for line in terminal.splitlines() if line.partition(":")[0] in task.details]
            labels = [row.split("[")[1].split("]")[0] for row in rows]
            label = [*labels, "Buy now"][min(chosen, len(labels))]
            return Decision(actions=(TypeText(text=f"click {label}\n"),), text="click")
        actions = await next_actions(replace(task, details={}), sandbox, len(context.steps))
        return Decision(actions=tuple(actions), text="")


@pytest.mark.parametrize("task_id", ["worlds/bandit-asking", "store/buy-asking"])
async def test_who_asks_wins_and_who_guesses_does_not(task_id: str) -> None:
    won = {ScriptedPolicy: 0, Guesses: 0}
    seeds = range(24)
    for seed in seeds:
        for kind in won:
            done = await work(make_task(task_id, seed), kind())
            assert done.end is not None and done.end.outcome is not None, done.end
            won[kind] += done.end.outcome.success
            asked = any(isinstance(a, AskUser) for step in done.steps for a in step.decision.actions)
            assert asked is (kind is ScriptedPolicy)
    assert won[ScriptedPolicy] == len(seeds)
    assert won[Guesses] < len(seeds) / 2
