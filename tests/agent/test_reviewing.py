"""A person who accepts, replaces, or says nothing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent import reviewing
from deskhand_agent.episode import run_episode
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.reviewing import PersonsAnswer, ReviewedPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import (
    Context,
    Decision,
    Fault,
    Oracle,
    Proposal,
    ReviewVerdict,
    StopReason,
    Trajectory,
)
from deskhand_agent.users import ENOUGH, NOBODY
from deskhand_sandbox.types import AskUser, Click, Finish, Split

pytestmark = pytest.mark.usefixtures("simulated_time")

WRONG, RIGHT = Click(x=50, y=50), Click(x=10, y=10)


class Person:
    """Says what they are told to, turn by turn; the last thing again and again. None: nothing, ever."""

    def __init__(self, *answers: PersonsAnswer | None) -> None:
        self.answers = answers
        self.seen: list[tuple[Context, Decision]] = []

    async def review(self, context: Context, decision: Decision, *, within_s: float) -> PersonsAnswer | None:
        answer = self.answers[min(len(self.seen), len(self.answers) - 1)]
        self.seen.append((context, decision))
        if answer is None:
            await asyncio.sleep(within_s)
        return answer


async def play(
    stub: SimpleNamespace, policy: Any, person: Any, *, wait_s: float = 5.0, **task: Any
) -> Trajectory:
    return await run_episode(
        stub.task(2, **task),
        sandbox=stub.Sandbox(),
        policy=ReviewedPolicy(policy, person, wait_s=wait_s),
        verifier=stub.Rewards(),
        sink=MemorySink(),
        split=Split.TRAIN,
    )


def sampled(*actions: Any, **fields: Any) -> Decision:
    request = CompletionRequest(prompt_ids=(1, 2), images=(), processor_hash="p", sampling=Sampling())
    completion = Completion(
        ids=(3, 4), logprobs=(-1.0, -1.0), finish_reason=FinishReason.STOP, policy_id="m", policy_update=0
    )
    return Decision(
        actions=actions, text="as sampled", thought="there", request=request, completion=completion,
        trainable=True, **fields,
    )  # fmt: skip


async def test_a_question_that_is_accepted_with_an_answer_is_answered_by_the_person(
    stub: SimpleNamespace,
) -> None:
    asks, done = (AskUser(question="Which?"), AskUser(question="")), sampled(Finish())
    person = Person(
        PersonsAnswer(by="ada", answer="The blue one."),
        PersonsAnswer(by="ada"),
        PersonsAnswer(by="ada", answer="Said to nothing that is asked."),
    )
    policy = stub.Policy(sampled(*asks), sampled(AskUser(question="Which?")), done)
    played = await play(stub, policy, person)
    assert [step.answer for step in played.steps] == ["The blue one.", NOBODY, None]
    review = played.steps[0].decision.review
    assert review is not None and (review.by, review.answer) == ("ada", "The blue one.")


async def test_what_a_person_answers_counts_among_the_questions_and_is_heard_beyond_them(
    stub: SimpleNamespace,
) -> None:
    asks = sampled(AskUser(question="Which?"))
    said = [PersonsAnswer(by="ada", answer=f"answer {n}") for n in range(5)]
    policy = stub.Policy(asks, asks, asks, asks, asks, asks, sampled(Finish()))
    played = await play(stub, policy, Person(*said, PersonsAnswer(by="ada")))
    answers = [step.answer for step in played.steps]
    assert answers == [*(f"answer {n}" for n in range(5)), ENOUGH, None]


async def test_what_a_person_replaces_is_done_and_kept_with_what_it_replaced(stub: SimpleNamespace) -> None:
    person = Person(PersonsAnswer(by="ada", actions=(RIGHT,), thought="The corner.", reason="It missed."))
    decided = sampled(WRONG)
    played = await play(stub, stub.Policy(decided), person)
    assert played.end is not None and played.end.outcome is not None and played.end.outcome.success
    first = played.steps[0].decision
    assert (first.actions, first.thought, first.trainable, first.completion) == (
        (RIGHT,),
        "The corner.",
        False,
        None,
    )
    assert first.text == "<think>The corner.</think>\nclick(point='<point>10 10</point>')"
    assert first.request == decided.request
    review = first.review
    assert review is not None and (review.verdict, review.by, review.reason) == (
        "replaced",
        "ada",
        "It missed.",
    )
    assert review.proposed == Proposal(
        actions=(WRONG,), text="as sampled", thought="there", completion=decided.completion
    )
    context, shown = person.seen[1]
    assert shown == decided and context.trajectory_id == played.id
    assert context.steps[0].decision.actions == (RIGHT,)  # the policy goes on from what was done


async def test_what_a_person_accepts_is_done_as_it_was_sampled(stub: SimpleNamespace) -> None:
    decided = sampled(RIGHT)
    played = await play(stub, stub.Policy(decided), Person(PersonsAnswer(by="ada", reason="Yes.")))
    first = played.steps[0].decision
    assert (first.actions, first.completion, first.trainable) == ((RIGHT,), decided.completion, True)
    assert first.review is not None and first.review.proposed is None
    assert (first.review.verdict, first.review.by) == (ReviewVerdict.ACCEPTED, "ada")


async def test_a_turn_without_an_action_can_be_replaced_too(stub: SimpleNamespace) -> None:
    void = Decision(actions=(), text="hm", error="no action", fault=Fault.SYNTAX, repairs=("prose",))
    played = await play(stub, stub.Policy(void), Person(PersonsAnswer(by="ada", actions=(Finish(text=""),))))
    (step,) = played.steps
    assert (step.decision.error, step.decision.fault, step.decision.repairs) == (None, None, ())
    assert played.end is not None and played.end.stop_reason is StopReason.FINISHED


async def test_where_nobody_answers_the_model_has_its_way(stub: SimpleNamespace) -> None:
    played = await play(stub, stub.Policy((RIGHT,)), Person(None), wait_s=0.05)
    assert played.end is not None and played.end.outcome is not None and played.end.outcome.success
    for step in played.steps:
        review = step.decision.review
        assert review is not None and (review.verdict, review.by) == (ReviewVerdict.UNANSWERED, None)
        assert step.decision.actions == (RIGHT,) and review.waited_s >= 0.05


async def test_a_reviewer_that_hangs_is_given_up(
    stub: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hangs:
        async def review(self, context: Context, decision: Decision, *, within_s: float) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(reviewing, "GRACE_S", 0.05)
    played = await play(stub, stub.Policy((RIGHT,)), Hangs(), wait_s=0.05)
    assert [step.decision.review.verdict for step in played.steps if step.decision.review] == [
        "unanswered"
    ] * 2


async def test_waiting_for_a_person_costs_the_episode_no_time(stub: SimpleNamespace) -> None:
    person = Person(None)
    played = await play(stub, stub.Policy((WRONG,)), person, wait_s=0.3, seconds=0.25, turns=3)
    assert played.end is not None and played.end.stop_reason is StopReason.TURN_LIMIT
    assert len(person.seen) == 3
    assert all(step.timings.model_ms < 200 for step in played.steps)


async def test_a_summary_is_nobodys_to_replace(stub: SimpleNamespace) -> None:
    person = Person(PersonsAnswer(by="ada"))
    summary = Decision(actions=(), text="so far", summary="so far")
    await play(stub, stub.Policy(summary, (RIGHT,)), person)
    assert all(decision.summary is None for _, decision in person.seen)


async def test_an_oracle_stays_one_and_nobody_else_becomes_one(stub: SimpleNamespace) -> None:
    oracle = ReviewedPolicy(ScriptedPolicy(), Person(None), wait_s=1)
    assert isinstance(oracle, Oracle) and oracle.reads_state and oracle.id == ScriptedPolicy().id
    person = Person(PersonsAnswer(by="ada"))
    await play(stub, stub.Policy((RIGHT,)), person)
    assert person.seen[0][0].sandbox is None


async def test_an_error_of_the_reviewer_is_not_swallowed(stub: SimpleNamespace) -> None:
    class Broken:
        async def review(self, context: Context, decision: Decision, *, within_s: float) -> None:
            raise RuntimeError("the desk is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        await play(stub, stub.Policy((RIGHT,)), Broken())
