"""Single replies to screens of demonstrations, before whole episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, StopReason, Trajectory
from deskhand_agent.worker import Job, run_episodes
from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Action, Click, Limits, Press, TypeText
from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.curriculum_config import CurriculumConfig
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.rollouts import episode_of
from deskhand_trainer.single_steps import Screen, Stage, all_replied, replied, screen_at, stage_of

EXPERT: tuple[Action, ...] = (Click(x=50, y=100), TypeText(text="ada"), Press(keys=("Enter",)))


class Says:
    id = "says"
    reads_state = False

    def __init__(self, say: Callable[[int], Action | None]) -> None:
        self.say, self.seen = say, list[Context]()

    async def act(self, context: Context) -> Decision:
        self.seen.append(context)
        action = self.say(len(context.steps))
        return Decision(actions=() if action is None else (action,), text="says")


@pytest.fixture
async def expert() -> Trajectory:
    task = replace(make_task("fake/never-done", 0), limits=Limits(turns=len(EXPERT), seconds=30))

    class Source:
        def lease(self, kind: str, **_: Any) -> FakeSandbox:
            return FakeSandbox({})

    source: Any = Source()
    sink, policy = MemorySink(), Says(lambda turn: EXPERT[turn])
    await run_episodes([Job(task=task)], source=source, policy=policy, sink=sink, concurrency=1)
    return sink.trajectories[0]


def test_stages_come_one_after_another() -> None:
    told = CurriculumConfig(format=2, single_step=3)
    stages = [stage_of(told, iteration=i) for i in range(7)]
    assert stages == ["format"] * 2 + ["single_step"] * 3 + [None] * 2
    assert stage_of(CurriculumConfig(), iteration=0) is None


def test_each_time_through_the_demonstrations_it_is_the_next_steps_screen(expert: Trajectory) -> None:
    for demonstrations in (1, 2, 3, 5):
        shown = [
            screen_at(expert, number=n, demonstrations=demonstrations) for n in range(3 * demonstrations)
        ]
        assert [screen.number for screen in shown] == list(range(3 * demonstrations))
        # not all of one time through show the same step
        assert [s.index for s in shown[:demonstrations]] == [place % 3 for place in range(demonstrations)]
        for place in range(demonstrations):
            assert {screen.index for screen in shown[place::demonstrations]} == {0, 1, 2}


@pytest.mark.parametrize(
    ("stage", "said", "score"),
    [
        ("format", None, 0.0),
        ("format", Press(keys=("Tab",)), 1.0),
        ("single_step", None, 0.0),
        ("single_step", Press(keys=("Tab",)), 0.1),
        ("single_step", TypeText(text="bob"), 0.5),
        ("single_step", TypeText(text="ada"), 1.0),
    ],
)
async def test_a_reply_is_paid_as_its_stage_says(
    expert: Trajectory, stage: Stage, said: Action | None, score: float
) -> None:
    policy = Says(lambda turn: said)
    screen = Screen(expert=expert, index=1, number=7)
    made = await replied(screen, policy, stage, grouped=True, policy_update=3)
    (step,), end = made.steps, made.end
    assert end is not None and end.outcome is not None and end.stop_reason is StopReason.FINISHED
    assert end.outcome.score == pytest.approx(score) and end.outcome.success == (score == 1.0)
    assert step.index == 0 and step.reward == 0.0  # the outcome alone pays
    assert step.observation == expert.steps[1].observation
    (context,) = policy.seen
    assert context.steps == expert.steps[:1] and context.instruction == expert.start.instruction
    assert made.id != expert.id and made.start.policy_update == 3


async def test_replies_to_a_screen_are_a_group(expert: Trajectory) -> None:
    shown = [Screen(expert=expert, index=1, number=n) for n in (4, 9)]
    policy = Says(lambda turn: EXPERT[turn])
    told: dict[str, Any] = {"concurrency": 2, "policy_update": 0}
    made, failed = await all_replied(shown, policy, "single_step", group_size=3, **told)
    assert Counter(t.start.group_id for t in made) == {"fake/never-done#4": 3, "fake/never-done#9": 3}
    assert not failed and len({t.id for t in made}) == 6
    alone, _ = await all_replied(shown, policy, "single_step", group_size=1, **told)
    assert [t.start.group_id for t in alone] == [None, None]
    assert episode_of(alone[0], None) is None  # what was said without ids teaches nothing


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"advantage": "turn"}, "a critic would expect of whole episodes"),
        ({"rollouts": "stream"}, "come before batches of the policy's own episodes, and stream ones"),
        ({"rollouts": "self_play"}, "and self_play ones are not that"),
        ({"algorithm": "cloning"}, "and cloning ones are not that"),
        ({"replay": 8}, "no store holds its single replies"),
        ({"self_imitation": 8}, "no store holds its single replies"),
        ({"skip_void": True}, "skip_void leaves the latter out: leave skip_void or curriculum.format out"),
        ({"iterations": 3}, "3 iterations of single replies leave whole episodes none of 3: .* iterations 4"),
        (
            {"iterations": 8, "turn_limits": [4, 8], "turn_limit_every": 5},
            "5 iterations and 3 of the curriculum, .* are 8: try turn_limit_every 4 or iterations 9",
        ),
    ],
)
def test_stages_that_do_not_go_with_the_rest_are_refused(fields: dict[str, Any], message: str) -> None:
    usual = {"advantage": "grpo", "normalisation": "none", "ratio": "token"}
    usual |= {"curriculum": {"format": 1, "single_step": 2}}
    config = parse_config(PpoConfig, usual)
    assert config.curriculum.iterations == 3 and config.by_store and config.beside_experts
    with pytest.raises(ConfigError, match=message):
        parse_config(PpoConfig, usual | fields)
