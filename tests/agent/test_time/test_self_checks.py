"""Looking again before the end: "finished" is doubted a few times, failed attempts are tried again."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.accounts import spent
from deskhand_agent.episode import TRY_AGAIN, run_episode
from deskhand_agent.formats import find_format
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.sinks import MemorySink
from deskhand_agent.test_time.checking import NOT_DONE, QUESTION, AskedJudge, AskedModel, Check, SelfCheck
from deskhand_agent.test_time.deliberating import deliberate
from deskhand_agent.test_time.sampling import ManySamples
from deskhand_agent.test_time.settings import Deliberation
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Context, Decision, Failure, Step, StopReason, Trajectory
from deskhand_sandbox.types import Click, Finish, Observation, Split

pytestmark = pytest.mark.usefixtures("simulated_time")

CLICK = (Click(x=10, y=10),)
DONE = (Finish(),)


class Thinks:
    """A checker with opinions, one after another; the last again and again."""

    def __init__(self, *opinions: bool) -> None:
        self.opinions = opinions
        self.asked: list[tuple[int, Observation]] = []

    async def check(self, before: Context, step: Step, after: Observation) -> Check:
        assert len(before.steps) == step.index and before.observation == step.observation
        self.asked.append((step.index, after))
        done = self.opinions[min(len(self.asked), len(self.opinions)) - 1]
        return Check(done=done, cost={"completion_tokens": 2.0})


async def run(stub: SimpleNamespace, checker: Any, *turns: Any, **over: Any) -> Trajectory:
    arguments: dict[str, Any] = {
        "policy": stub.Policy(*turns), "verifier": stub.Verifier(), "sandbox": stub.Sandbox(),
        "doubts": 0, "clicks": 2,
    } | over  # fmt: skip
    self_check = SelfCheck(checker=checker, doubts=arguments.pop("doubts"))
    task = stub.task(arguments.pop("clicks"))
    return await run_episode(task, sink=MemorySink(), split=Split.TEST, self_check=self_check, **arguments)


def told(trajectory: Trajectory) -> list[str | None]:
    return [step.answer for step in trajectory.steps]


async def test_finished_is_doubted_and_the_agent_goes_on(stub: SimpleNamespace) -> None:
    thinks = Thinks(False, True)
    done = await run(stub, thinks, CLICK, DONE, CLICK, DONE, doubts=3)
    assert told(done) == [None, NOT_DONE, None, None]
    assert done.end is not None and done.end.stop_reason is StopReason.FINISHED
    assert done.end.outcome is not None and done.end.outcome.success
    assert [index for index, _ in thinks.asked] == [1, 3]
    # what the opinion cost is the step's
    assert [dict(step.decision.cost) for step in done.steps] == [
        {}, {"completion_tokens": 2.0}, {}, {"completion_tokens": 2.0}
    ]  # fmt: skip


async def test_what_an_opinion_costs_comes_on_top_of_what_its_turn_did(stub: SimpleNamespace) -> None:
    request = CompletionRequest(prompt_ids=(1, 2), images=(), processor_hash="p", sampling=Sampling())
    completion = Completion(
        ids=(3, 4, 5), logprobs=(-1.0,) * 3, finish_reason=FinishReason.STOP, policy_id="m", policy_update=0
    )
    drawn = Decision(actions=DONE, text="t", request=request, completion=completion)
    done = await run(stub, Thinks(True), drawn, doubts=1)
    assert spent(done.steps[0].decision) == {"prompt_tokens": 2.0, "completion_tokens": 3.0 + 2.0}


async def test_doubts_are_bounded(stub: SimpleNamespace) -> None:
    thinks = Thinks(False)
    done = await run(stub, thinks, DONE, doubts=2)
    assert told(done) == [NOT_DONE, NOT_DONE, None] and len(thinks.asked) == 2
    assert done.end is not None and done.end.stop_reason is StopReason.FINISHED
    none = Thinks(False)
    assert told(await run(stub, none, DONE, doubts=0)) == [None] and none.asked == []


async def test_a_doubted_end_is_a_turn_of_the_task(stub: SimpleNamespace) -> None:
    task = stub.task(2, turns=2)
    done = await run_episode(
        task, sandbox=stub.Sandbox(), policy=stub.Policy(DONE), verifier=stub.Verifier(),
        sink=MemorySink(), split=Split.TEST, self_check=SelfCheck(checker=Thinks(False), doubts=9),
    )  # fmt: skip
    assert told(done) == [NOT_DONE, NOT_DONE]
    assert done.end is not None and done.end.stop_reason is StopReason.TURN_LIMIT


async def test_an_attempt_that_seems_to_have_failed_is_tried_again(stub: SimpleNamespace) -> None:
    sandbox, verifier = stub.Sandbox(), stub.Verifier()
    thinks = Thinks(False, True)
    done = await run(stub, thinks, DONE, CLICK, CLICK, DONE, attempts=3, sandbox=sandbox, verifier=verifier)
    assert told(done) == [TRY_AGAIN, None, None, None]
    assert len(sandbox.resets) == 2
    assert done.end is not None and done.end.outcome is not None and done.end.outcome.success
    # the verdict is asked for once, at the end: it is none of the agent's business
    assert len(verifier.answers) == 1


async def test_who_believes_it_is_done_ends_with_whatever_the_verdict_is(stub: SimpleNamespace) -> None:
    done = await run(stub, Thinks(True), DONE, attempts=3)
    assert told(done) == [None]
    assert done.end is not None and done.end.outcome is not None and not done.end.outcome.success


async def test_doubts_come_before_another_attempt_and_nobody_is_asked_twice_of_a_step(
    stub: SimpleNamespace,
) -> None:
    thinks = Thinks(False)
    done = await run(stub, thinks, DONE, attempts=2, doubts=1)
    assert told(done) == [NOT_DONE, TRY_AGAIN, None]
    assert [index for index, _ in thinks.asked] == [0, 1]


async def test_an_opinion_that_does_not_come_is_infrastructure_and_the_step_is_kept(
    stub: SimpleNamespace,
) -> None:
    class Hangs:
        async def check(self, before: Context, step: Step, after: Observation) -> Check:
            await asyncio.Event().wait()
            raise AssertionError

    paid = Decision(actions=DONE, text="finished()", cost={"usd": 0.5})
    done = await run(stub, Hangs(), CLICK, paid, doubts=1, deadlines=Deadlines(model_s=0.05))
    assert done.end is not None and done.end.failure is Failure.MODEL_TIMEOUT
    assert [dict(step.decision.cost) for step in done.steps] == [{}, {"usd": 0.5}]


class Model:
    """Answers questions, and is asked what to do by nobody."""

    id = "model"

    def __init__(self, says: str = "") -> None:
        self.says = says
        self.asked: list[tuple[int, str]] = []

    async def act(self, context: Context) -> Decision:
        raise AssertionError

    async def ask(self, context: Context, question: str) -> Decision:
        self.asked.append((len(context.steps), question))
        return Decision(actions=(), text=self.says, cost={"usd": 1.0})


@pytest.mark.parametrize(
    ("says", "done"),
    [
        ("answer(content='no')", False),
        ("<think>the box is empty</think>answer(content='No.')", False),
        ("No, the form is not sent.", False),
        ("<think>the box is empty</think>\nNo.", False),
        (find_format("ui_tars", None).answering("no"), False),
        (find_format("ui_tars", None).answering("yes"), True),
        ("finished()", True),
        ("answer(content='no')\nfinished()", False),
        ("answer(content='yes')\nfinished()", True),
        ("answer(content='yes')", True),
        ("Yes", True),
        ("click(point='<point>1 2</point>')", True),
        ("nothing I know of", True),
        ("", True),
    ],
)
async def test_a_plain_no_of_the_model_counts_and_nothing_else(
    stub: SimpleNamespace, says: str, done: bool
) -> None:
    model = Model(says)
    step = stub.past(0, Decision(actions=DONE, text="finished()"))
    before = Context(task=stub.task(), instruction="do", steps=(), observation=step.observation)
    check = await AskedModel(model=model).check(before, step, stub.observation("after"))
    assert (check.done, check.cost, model.asked) == (done, {"usd": 1.0}, [(1, QUESTION)])


@pytest.mark.parametrize(("score", "done"), [(0.49, False), (0.5, True), (0.9, True)])
async def test_a_judge_holds_a_well_scored_last_step_for_the_end(
    stub: SimpleNamespace, score: float, done: bool
) -> None:
    class Scores:
        async def scores(self, context: Context, candidates: Any) -> list[float]:
            assert [each.text for each in candidates] == ["finished()"]
            return [score]

    step = stub.past(0, Decision(actions=DONE, text="finished()"))
    before = Context(task=stub.task(), instruction="do", steps=(), observation=step.observation)
    assert (await AskedJudge(judge=Scores(), least=0.5).check(before, step, step.observation)).done is done


def test_settings_choose_what_is_computed() -> None:
    plain = deliberate(Model(), Deliberation())
    assert (plain.self_check, plain.attempts, plain.policy.id) == (None, 1, "model")
    assert Deliberation(samples=64, attempts=16, checks=1000, turns=1000).checks_itself
    more = deliberate(Model(), Deliberation(samples=3, checks=2, attempts=2))
    assert isinstance(more.policy, ManySamples) and more.policy.id == "model"
    assert more.self_check is not None and (more.self_check.doubts, more.attempts) == (2, 2)
    assert isinstance(more.self_check.checker, AskedModel)


def test_settings_that_make_no_sense_are_refused(stub: SimpleNamespace) -> None:
    for wrong, says in (
        ({"samples": 0}, "samples is 0: give 1 to 64"),
        ({"samples": 65}, "samples is 65: give 1 to 64"),
        ({"attempts": 17}, "attempts is 17: give 1 to 16"),
        ({"turns": 1001}, "turns is 1001: give 0 to 1000"),
        ({"least_score": 2.0}, "least_score is 2.0"),
        ({"samples": 4, "choose": "judge"}, "name the process reward model"),
        ({"samples": 1, "choose": "judge", "judge": "p"}, "is asked nothing"),
        ({"judge": "p"}, "is asked nothing"),
    ):
        with pytest.raises(ValueError, match=says):
            Deliberation(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no process reward model"):
        deliberate(Model(), Deliberation(samples=4, choose="judge", judge="p"))
    with pytest.raises(TypeError, match="answers no questions"):
        deliberate(stub.Policy(), Deliberation(checks=1))
