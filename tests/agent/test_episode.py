from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.episode import run_episode
from deskhand_agent.errors import EndpointError, InferenceTimeout, OracleError
from deskhand_agent.sinks import MemorySink
from deskhand_agent.time_limits import waiting_ones_turn
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Decision, Failure, Step, StopReason, Trajectory, TrajectoryEnd
from deskhand_agent.users import NOBODY, SILENT, Question, Reply
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    InvalidTask,
    LeaseExpired,
    SandboxDied,
    SandboxTimeout,
    VerifierError,
)
from deskhand_sandbox.types import (
    Answer,
    AskUser,
    Click,
    EnvironmentSpec,
    Fail,
    Finish,
    Outcome,
    Split,
    StepReward,
    Task,
    TypeText,
    Wait,
)

pytestmark = pytest.mark.usefixtures("simulated_time")

CLICK = (Click(x=10, y=10),)
SHORT = Deadlines(reset_s=0.1, model_s=0.1, act_s=0.1, verify_s=0.1)


async def run(stub: SimpleNamespace, *turns: Any, sink: MemorySink | None = None, **over: Any) -> Trajectory:
    arguments: dict[str, Any] = {
        "sandbox": stub.Sandbox(),
        "policy": stub.Policy(*turns),
        "verifier": stub.Rewards(),
        "sink": sink or MemorySink(),
        "split": Split.TRAIN,
    } | over
    return await run_episode(arguments.pop("task", stub.task()), **arguments)


def end(trajectory: Trajectory) -> TrajectoryEnd:
    assert trajectory.end is not None
    return trajectory.end


async def test_an_episode_is_recorded_as_it_was(stub: SimpleNamespace) -> None:
    sink = MemorySink()
    trajectory = await run(stub, sink=sink, group_id="g", labels={"run": "r"}, policy_update=7)
    assert sink.trajectories == (trajectory,)
    assert end(trajectory).stop_reason is StopReason.TERMINATED
    assert end(trajectory).outcome == Outcome(score=1.0, success=True)
    assert (trajectory.terminated, trajectory.truncated) == (True, False)
    start = trajectory.start
    assert (start.instruction, start.policy_id, start.policy_update) == ("Click 3 times", "stub-policy", 7)
    assert (start.group_id, start.labels, start.split) == ("g", {"run": "r"}, Split.TRAIN)
    assert [step.index for step in trajectory.steps] == [0, 1, 2]
    assert [step.reward for step in trajectory.steps] == [1.0, 1.0, 1.0]
    seen = [step.observation.screenshot for step in trajectory.steps]
    assert seen == [stub.picture(name) for name in ("start", "1", "2")]
    assert end(trajectory).final_observation == stub.observation("3")
    assert all(step.timings.settle_ms == 3.0 and step.timings.act_ms >= 0 for step in trajectory.steps)


async def test_each_step_is_written_before_the_next_decision(stub: SimpleNamespace) -> None:
    sink, policy = MemorySink(), stub.Policy()
    written: list[int] = []
    act = policy.act

    async def counting(context: Any) -> Decision:
        written.append(len(sink.trajectories[0].steps))
        return await act(context)

    policy.act = counting
    await run(stub, sink=sink, policy=policy)
    assert written == [0, 1, 2]
    assert [len(context.steps) for context in policy.contexts] == [0, 1, 2]
    assert policy.contexts[2].steps == sink.trajectories[0].steps[:2]


async def test_without_step_rewards_the_agent_ends_the_episode(stub: SimpleNamespace) -> None:
    trajectory = await run(stub, CLICK, CLICK, CLICK, (Finish(),), verifier=stub.Verifier())
    assert (end(trajectory).stop_reason, len(trajectory.steps)) == (StopReason.FINISHED, 4)
    assert [step.reward for step in trajectory.steps] == [0.0] * 4
    assert end(trajectory).outcome == Outcome(score=1.0, success=True)


async def test_finishing_at_once_earns_nothing(stub: SimpleNamespace) -> None:
    trajectory = await run(stub, (Finish(),))
    assert (end(trajectory).stop_reason, end(trajectory).outcome) == (
        StopReason.FINISHED,
        Outcome(score=0.0, success=False),
    )


async def test_the_turn_limit_truncates_and_keeps_the_last_screen(stub: SimpleNamespace) -> None:
    trajectory = await run(stub, task=stub.task(9, turns=4))
    assert (end(trajectory).stop_reason, trajectory.truncated) == (StopReason.TURN_LIMIT, True)
    assert len(trajectory.steps) == 4
    assert end(trajectory).final_observation == stub.observation("4")
    assert end(trajectory).outcome == Outcome(score=0.0, success=False)


async def test_reaching_the_goal_on_the_last_turn_terminates(stub: SimpleNamespace) -> None:
    trajectory = await run(stub, task=stub.task(4, turns=4))
    assert end(trajectory).stop_reason is StopReason.TERMINATED


async def test_the_time_limit_truncates(stub: SimpleNamespace) -> None:
    trajectory = await run(stub, task=stub.task(10**9, turns=10**9, seconds=0.001))
    assert (end(trajectory).stop_reason, end(trajectory).failure) == (StopReason.TIME_LIMIT, None)
    assert trajectory.steps
    assert end(trajectory).outcome == Outcome(score=0.0, success=False)


async def test_the_time_limit_holds_within_a_turn(stub: SimpleNamespace) -> None:
    trajectory = await run(stub, CLICK * 9, task=stub.task(9, turns=5, seconds=0.0))
    assert (end(trajectory).stop_reason, end(trajectory).failure) == (StopReason.TIME_LIMIT, None)
    (step,) = trajectory.steps
    assert (step.reward, step.action_error) == (1.0, "the episode's time was up before Click")
    assert end(trajectory).outcome == Outcome(score=0.0, success=False)


async def test_waiting_for_a_rate_limit_is_no_hung_model_and_takes_no_time(stub: SimpleNamespace) -> None:
    policy = stub.Policy()
    act = policy.act

    async def paced(context: Any) -> Decision:
        with waiting_ones_turn():
            await asyncio.sleep(0.6)
        return await act(context)

    policy.act = paced
    limits = {"deadlines": Deadlines(model_s=0.5), "task": stub.task(2, seconds=0.5)}
    trajectory = await run(stub, policy=policy, **limits)
    assert (end(trajectory).stop_reason, end(trajectory).failure) == (StopReason.TERMINATED, None)
    assert all(0 <= step.timings.model_ms < 600 for step in trajectory.steps)


async def test_what_may_take_longer_by_its_own_settings_does(stub: SimpleNamespace) -> None:
    class Slow(stub.Sandbox):
        async def reset(self, task: Task) -> Any:
            await asyncio.sleep(0.2)
            return await super().reset(task)

    class Verifier(stub.Verifier):
        asked_s = 30.0

        async def score(self, sandbox: Any, *, answer: str | None) -> Outcome:
            await asyncio.sleep(0.2)
            return await super().score(sandbox, answer=answer)

    class Thinks(stub.Policy):
        longest_s = 30.0

        async def act(self, context: Any) -> Decision:
            await asyncio.sleep(0.2)
            return await super().act(context)

    steps = [{"type": "sleep", "parameters": {"seconds": 30}}]
    spec = EnvironmentSpec(kind="stub", settings={"setup": steps})
    task = replace(stub.task(1), environment=spec)
    slow = {"sandbox": Slow(), "verifier": Verifier(), "policy": Thinks((Finish(text="1"),)), "task": task}
    trajectory = await run(stub, deadlines=SHORT, **slow)
    assert (end(trajectory).failure_detail, end(trajectory).failure) == ("", None)
    assert end(trajectory).outcome == Outcome(score=1.0, success=True)
    alike = {"task": stub.task(1), "verifier": stub.Verifier(), "policy": stub.Policy()}
    for name, failure in (("sandbox", Failure.SANDBOX_TIMEOUT), ("policy", Failure.MODEL_TIMEOUT)):
        slow[name] = {"sandbox": Slow, "policy": Thinks}[name]()
        slow[name].longest_s = 0.0
        broken = await run(stub, deadlines=SHORT, **alike | {name: slow[name]})
        assert end(broken).failure is failure


async def test_giving_up_ends_the_episode_with_a_verdict(stub: SimpleNamespace) -> None:
    trajectory = await run(stub, (Fail(reason="no such button"),))
    assert (end(trajectory).stop_reason, trajectory.terminated) == (StopReason.GAVE_UP, True)
    assert end(trajectory).outcome is not None


@pytest.mark.parametrize(
    ("turns", "heard"),
    [
        ([(Answer(text="3"),), (Finish(),)], "3"),
        ([(Answer(text="3"), Answer(text="4"), Finish())], "4"),
        ([(Answer(text="3"), Finish(text="5"))], "5"),
        ([(Finish(),)], None),
    ],
)
async def test_the_verifier_hears_the_last_answer(
    stub: SimpleNamespace, turns: list[Any], heard: str | None
) -> None:
    verifier = stub.Verifier()
    await run(stub, *turns, verifier=verifier)
    assert verifier.answers == [heard]


async def test_an_invalid_action_is_the_agents_and_the_episode_goes_on(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox()
    trajectory = await run(stub, (Click(x=500, y=10), TypeText(text="never")), CLICK, sandbox=sandbox)
    first = trajectory.steps[0]
    assert first.action_error == "(500, 10) is off the screen"
    assert first.reward == 0.0
    assert not any(isinstance(action, TypeText) for action in sandbox.actions)
    assert trajectory.steps[1].observation == first.observation
    assert end(trajectory).outcome == Outcome(score=1.0, success=True)


async def test_a_void_turn_is_recorded_and_the_episode_goes_on(stub: SimpleNamespace) -> None:
    void = Decision(actions=(), text="hm", error="expected an action")
    trajectory = await run(stub, void, CLICK)
    assert trajectory.steps[0].decision == void
    assert trajectory.steps[0].reward == 0.0
    assert end(trajectory).outcome == Outcome(score=1.0, success=True)


async def test_void_replies_in_a_row_end_the_episode_with_its_verdict(stub: SimpleNamespace) -> None:
    void = Decision(actions=(), text="hm", error="expected an action")
    # the run begins anew with every action
    trajectory = await run(stub, void, CLICK, void, void, CLICK, sandbox=stub.Sandbox(), void_limit=2)
    assert [bool(step.decision.actions) for step in trajectory.steps] == [False, True, False, False]
    assert end(trajectory).stop_reason is StopReason.VOID_LIMIT
    assert end(trajectory).outcome is not None
    assert not trajectory.truncated  # a failure of the agent's, not an episode cut short


async def test_several_actions_of_a_turn_are_one_step(stub: SimpleNamespace) -> None:
    verifier = stub.Rewards()
    trajectory = await run(stub, CLICK * 5, verifier=verifier)
    assert (len(trajectory.steps), trajectory.steps[0].reward, verifier.asked) == (1, 3.0, 3)


async def test_the_user_is_asked_and_the_reply_kept(stub: SimpleNamespace) -> None:
    async def user(question: Question) -> Reply:
        return Reply(text=f"{question.text}: blue")

    trajectory = await run(stub, (AskUser(question="Which"),), (Finish(),), user=user)
    assert trajectory.steps[0].answer == "Which: blue"


@pytest.mark.parametrize("asleep", [True, False])
async def test_nobody_there_to_answer_does_not_stop_the_episode(stub: SimpleNamespace, asleep: bool) -> None:
    async def user(question: Question) -> Reply:
        await asyncio.Event().wait()
        return Reply(text=question.text)

    task = stub.task(seconds=0.2)
    told = {"user": user} if asleep else {}
    trajectory = await run(stub, (AskUser(question="Which"),), (Finish(),), task=task, **told)
    assert trajectory.steps[0].answer == (SILENT if asleep else NOBODY)


async def test_waiting_is_cut_to_the_time_that_is_left(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox()
    await run(stub, (Wait(seconds=1e9),), (Finish(),), sandbox=sandbox, task=stub.task(seconds=5))
    assert 4 < sandbox.actions[0].seconds <= 5


FAILURES: list[tuple[dict[str, Any], Failure]] = [
    ({"reset": SandboxDied("gone")}, Failure.SANDBOX_DIED),
    ({"reset": "hang"}, Failure.SANDBOX_TIMEOUT),
    ({"reset": InvalidTask("wrong kind")}, Failure.TASK_REFUSED),
    ({"reset": InfrastructureError("page did not load")}, Failure.SANDBOX_SETUP),
    ({"reset": BackendMissing("no chromium")}, Failure.SANDBOX_SETUP),
    ({"act": {1: SandboxDied("gone")}}, Failure.SANDBOX_DIED),
    ({"act": {1: SandboxTimeout("slow")}}, Failure.SANDBOX_TIMEOUT),
    ({"act": {1: "hang"}}, Failure.SANDBOX_TIMEOUT),
    ({"act": {1: InfrastructureError("?")}}, Failure.SANDBOX_DIED),
    ({"act": {1: LeaseExpired("late")}}, Failure.SANDBOX_LEASE),
]


@pytest.mark.parametrize(("troubles", "failure"), FAILURES)
async def test_a_broken_sandbox_is_never_the_agents(
    stub: SimpleNamespace, troubles: dict[str, Any], failure: Failure
) -> None:
    sink = MemorySink()
    trajectory = await run(stub, sink=sink, sandbox=stub.Sandbox(**troubles), deadlines=SHORT)
    assert sink.trajectories == (trajectory,)
    assert (end(trajectory).stop_reason, end(trajectory).failure) == (StopReason.INFRASTRUCTURE, failure)
    assert (end(trajectory).outcome, end(trajectory).final_observation) == (None, None)
    assert (trajectory.terminated, trajectory.truncated) == (False, False)
    assert end(trajectory).failure_detail
    assert len(trajectory.steps) == ("act" in troubles)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (InferenceTimeout("slow"), Failure.MODEL_TIMEOUT),
        (EndpointError("refused", status=500), Failure.MODEL_ERROR),
        (OracleError("lost"), Failure.MODEL_ERROR),
        ("hang", Failure.MODEL_TIMEOUT),
    ],
)
async def test_a_silent_model_is_never_the_agents(
    stub: SimpleNamespace, error: Any, failure: Failure
) -> None:
    trajectory = await run(stub, CLICK, error, deadlines=SHORT)
    assert (end(trajectory).failure, end(trajectory).outcome, len(trajectory.steps)) == (failure, None, 1)


class Fails:
    """A watcher that comes to its end at the second turn."""

    async def doomed(self, attempt: Sequence[Step]) -> bool:
        if len(attempt) > 1:
            raise EndpointError("refused", status=500)
        return False


async def test_the_turn_after_which_a_watcher_fails_is_kept(stub: SimpleNamespace) -> None:
    sink = MemorySink()
    trajectory = await run(stub, sink=sink, watcher=Fails())
    assert (end(trajectory).failure, [step.reward for step in trajectory.steps]) == (
        Failure.MODEL_ERROR,
        [1.0, 1.0],
    )
    assert sink.trajectories == (trajectory,)


@pytest.mark.parametrize("error", [VerifierError("no verdict"), "hang"])
async def test_a_broken_verifier_is_never_the_agents(stub: SimpleNamespace, error: Any) -> None:
    for verifier, turns in ((stub.Verifier(score=error), [(Finish(),)]), (stub.Rewards(step=error), [CLICK])):
        trajectory = await run(stub, *turns, verifier=verifier, deadlines=SHORT)
        assert (end(trajectory).failure, end(trajectory).outcome) == (Failure.VERIFIER, None)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), float("-inf")])
async def test_a_step_reward_that_is_no_number_is_the_verifiers_fault(
    stub: SimpleNamespace, reward: float
) -> None:
    class Odd(stub.Rewards):
        async def step_reward(self, sandbox: Any) -> StepReward:
            return StepReward(reward=reward, terminated=False)

    sink = MemorySink()
    trajectory = await run(stub, verifier=Odd(), sink=sink)
    assert (end(trajectory).failure, end(trajectory).outcome) == (Failure.VERIFIER, None)
    assert f"the step reward is {reward}" in str(end(trajectory).failure_detail)
    assert sink.trajectories == (trajectory,) and not trajectory.steps


@pytest.mark.parametrize("where", ["reset", "model", "act", "verdict"])
async def test_cancelling_is_recorded_and_goes_through(stub: SimpleNamespace, where: str) -> None:
    sink = MemorySink()
    over: dict[str, Any] = {
        "reset": {"sandbox": stub.Sandbox(reset="hang")},
        "model": {"policy": stub.Policy(CLICK, "hang")},
        "act": {"sandbox": stub.Sandbox(act={1: "hang"})},
        "verdict": {"policy": stub.Policy(CLICK, (Finish(),)), "verifier": stub.Verifier(score="hang")},
    }[where]
    running = asyncio.create_task(run(stub, sink=sink, **over))
    reached = {"reset": 0, "verdict": 2}.get(where, 1)
    while reached and not (sink.trajectories and len(sink.trajectories[0].steps) == reached):
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (trajectory,) = sink.trajectories
    assert (end(trajectory).stop_reason, end(trajectory).outcome) == (StopReason.CANCELLED, None)
    assert len(trajectory.steps) == reached


async def test_only_an_oracle_is_given_the_sandbox(stub: SimpleNamespace) -> None:
    sandbox, oracle, policy = stub.Sandbox(), stub.Policy((Finish(),)), stub.Policy((Finish(),))
    oracle.reads_state = True
    await run(stub, sandbox=sandbox, policy=oracle)
    await run(stub, sandbox=sandbox, policy=policy)
    assert oracle.contexts[0].sandbox is sandbox
    assert policy.contexts[0].sandbox is None


async def test_a_failing_sink_is_no_infrastructure_failure(stub: SimpleNamespace) -> None:
    class Full(MemorySink):
        async def step(self, trajectory_id: str, step: Step) -> None:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await run(stub, sink=Full())


async def test_sixteen_episodes_at_once_do_not_mix(stub: SimpleNamespace) -> None:
    sink = MemorySink()
    done = await asyncio.gather(*(run(stub, sink=sink, task=stub.task(1 + n % 5)) for n in range(16)))
    assert [len(trajectory.steps) for trajectory in done] == [1 + n % 5 for n in range(16)]
    assert {trajectory.id: trajectory for trajectory in done} == {each.id: each for each in sink.trajectories}


class Impossible:
    """Judges a task that cannot be done."""

    async def score(self, sandbox: Any, *, answer: str | None) -> Outcome:
        return Outcome(score=0.0, success=False)

    async def score_given_up(self, sandbox: Any) -> Outcome:
        return Outcome(score=1.0, success=True)


@pytest.mark.parametrize(("last", "score"), [(Fail(reason="there is no such drive"), 1.0), (Finish(), 0.0)])
async def test_giving_up_is_judged_where_it_may_be_right(
    stub: SimpleNamespace, last: Fail | Finish, score: float
) -> None:
    outcome = end(await run(stub, (last,), verifier=Impossible())).outcome
    assert outcome is not None and outcome.score == score


async def test_a_tasks_own_set_up_is_part_of_its_reset(stub: SimpleNamespace) -> None:
    task = stub.task()
    step = {"type": "execute", "parameters": {"command": "true"}}
    spec = replace(task.environment, settings={**task.environment.settings, "setup": [step]})
    trajectory = await run(stub, CLICK, task=replace(task, environment=spec))
    assert end(trajectory).failure is Failure.TASK_REFUSED
    assert "shell commands behind the screen" in end(trajectory).failure_detail
