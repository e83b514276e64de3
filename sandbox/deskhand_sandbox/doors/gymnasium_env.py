"""A task in a sandbox as an environment of gymnasium (gymnasium.farama.org; needs the extra `gym`).

    env = SandboxEnv("miniwob/click-test")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step(Click(x=80, y=100))

An action is a sample of `action_space`, one of our actions, or, with `dialect=`, what that dialect's agents
write. One that cannot be carried out costs its turn, and `info["error"]` says why; those after it in a reply
only let go of what they held. What breaks that is not the agent's doing is raised, never rewarded: after it,
`reset` takes a fresh sandbox.

`reset(seed=s)` brings up the start state of seed s; without one it draws a seed of `split`, which is "train"
unless another is asked for, from the env's own generator; `info["split"]` says whose it is. The reward is
the environment's own where it has one, else the verdict's score at the end. `info["outcome"]` holds the
verdict once the episode is over. Where the dialect's agents name things on the screen ("browsergym",
"android_world"), `info["elements"]` is its text tree, with the number by which each is named.
"""

from __future__ import annotations

import dataclasses
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

try:
    import gymnasium
except ModuleNotFoundError as _missing:
    from deskhand_sandbox.errors import BackendMissing

    raise BackendMissing("the gymnasium door needs gymnasium: pip install 'deskhand[gym]'") from _missing

from deskhand_sandbox.base import (
    Backend,
    Capability,
    GivenUpVerifier,
    RewardingVerifier,
    Sandbox,
    Verifier,
    verdict_s,
)
from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.dialects import read, usual_frame
from deskhand_sandbox.dialects.pointing import letting_go, pointer_after
from deskhand_sandbox.doors import spaces
from deskhand_sandbox.doors.elements import NAMING, Elements, elements_of
from deskhand_sandbox.doors.machine import Machine
from deskhand_sandbox.errors import InvalidAction, SandboxError, UnsupportedCapability
from deskhand_sandbox.manager.records import MOST_CREATE_S
from deskhand_sandbox.registry import create_backend, create_verifier
from deskhand_sandbox.tasks.setup import asked_s, set_up
from deskhand_sandbox.tasks.splits import seeds, split_of
from deskhand_sandbox.tools.sandbox import with_tools
from deskhand_sandbox.types import (
    Action,
    Answer,
    AskUser,
    DeviceAction,
    Fail,
    Finish,
    Observation,
    Outcome,
    Point,
    Split,
    Task,
    Zoom,
)

T = TypeVar("T")

SEEDS = 2**31


class SandboxEnv(gymnasium.Env[dict[str, Any], Any]):
    """See the module. Closing it closes its sandbox, and the backend unless one was given."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012  # gymnasium's own

    def __init__(
        self,
        task: str | Callable[[int], Task],
        *,
        backend: Backend | None = None,
        dialect: str | None = None,
        split: Split | Literal["train", "validation", "test"] = Split.TRAIN,
        render_mode: Literal["rgb_array"] | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        """
        Args:
            task: its id, or what makes it from a seed; every seed's screen has the same size.
            backend: makes the sandboxes, and nothing else uses it; None: one of the task's kind, closed with
                the env.
            dialect: actions are what this dialect's agents write; None: samples of a structured space.
            split: whose seeds `reset` draws; held-out tasks have those of "test" alone.

        Raises:
            UnknownName: no such task, kind of sandbox or dialect.
            InvalidTask: the task has no seeds of that split.
            InvalidTask, InfrastructureError: the task's first start state cannot be brought up.
        """
        self._make = _by_id(task) if isinstance(task, str) else task
        self._dialect = dialect
        self.render_mode = render_mode
        first = self._make(0)
        self._task_id, self._split = first.id, Split(split)
        seeds(self._task_id, self._split, 1)
        made = backend or with_tools(create_backend(first.environment.kind))
        self._machine = Machine(made, backend is None)
        self._closing = weakref.finalize(self, self._machine.close)
        self._deadlines = deadlines or Deadlines()
        self._episode: _Episode | None = None
        try:
            self._size_px = self._begin(first).observation.size_px
        except BaseException:
            self.close()
            raise
        self.kinds = spaces.kinds_for(first.environment.kind)
        """What `action["kind"]` counts."""
        self.action_space = (
            spaces.reply_space() if dialect else spaces.action_space(self._size_px, self.kinds)
        )
        self.observation_space = spaces.observation_space(self._size_px)
        if dialect:
            usual_frame(dialect, self._size_px)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Bring up a start state.

        Raises:
            InvalidTask, InfrastructureError: it cannot be brought up.
        """
        super().reset(seed=seed)
        observation = self._begin(self._make(self._drawn() if seed is None else seed)).observation
        return self._seen(observation), self._info(observation)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action (with a dialect: all that one reply asks for).

        Raises:
            InfrastructureError: the sandbox broke; nobody's fault in the episode.
            gymnasium.error.ResetNeeded: there is no episode, or it is over.
        """
        episode = self._episode
        if episode is None or episode.over:
            raise gymnasium.error.ResetNeeded("the episode is over, or none was begun: call reset")
        episode.outputs = []
        try:
            reward, error = self._play(self._actions(action, episode), episode)
        except InvalidAction as unreadable:
            reward, error = 0.0, str(unreadable)
        episode.turns += 1
        truncated = not episode.over and episode.out_of_time()
        if (terminated := episode.over) or truncated:
            episode.over = True
            reward += self._judge(episode)
        else:
            self._number(episode)
        observation = episode.observation
        return self._seen(observation), reward, terminated, truncated, self._info(observation, error)

    def render(self) -> spaces.Screen | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The screen as it was last seen; None without `render_mode="rgb_array"`."""
        if self.render_mode is None or self._episode is None:
            return None
        return spaces.screen_of(self._episode.observation)

    def close(self) -> None:
        """Let go of the sandbox. Safe to call twice."""
        self._closing()

    # ---- inside

    def _drawn(self) -> int:
        """A seed of the split."""
        while True:
            seed = int(self.np_random.integers(SEEDS))
            if split_of(self._task_id, seed) is self._split:
                return seed

    def _begin(self, task: Task) -> _Episode:
        self._episode = None
        sandbox = self._run(self._machine.sandbox(), limit_s=self._deadlines.reset_s + MOST_CREATE_S)
        start = self._run(set_up(sandbox, task), limit_s=self._deadlines.reset_s + asked_s(task))
        self._episode = episode = _Episode(
            task=task,
            sandbox=sandbox,
            verifier=create_verifier(task.verifier),
            instruction=start.instruction,
            observation=start.observation,
        )
        self._number(episode)
        return episode

    def _number(self, episode: _Episode) -> None:
        """Look what may be named on the screen now, where the dialect names things."""
        if self._dialect in NAMING and Capability.TEXT_TREE in episode.sandbox.capabilities:
            seen = self._run(episode.sandbox.observe(text_tree=True))
            episode.observation = seen
            episode.elements = elements_of(seen.text_tree or "", kind=episode.sandbox.kind)

    def _actions(self, action: Any, episode: _Episode) -> tuple[Action, ...]:
        if dataclasses.is_dataclass(action):
            return (cast("Action", action),)
        if self._dialect is not None:
            frame = usual_frame(self._dialect, self._size_px)
            named = episode.elements
            return read(
                self._dialect,
                action,
                frame,
                pointer=episode.pointer,
                boxes=named.boxes,
                checked=named.checked,
                choices=named.choices,
            )
        if not isinstance(action, Mapping):
            raise InvalidAction(f"an action is a sample of the action space, not a {type(action).__name__}")
        return (spaces.action_of(cast("spaces.Sample", action), self.kinds),)

    def _play(self, actions: Sequence[Action], episode: _Episode) -> tuple[float, str]:
        """Do actions until one is refused or ends the episode; their reward, and why one was refused."""
        reward = 0.0
        for number, action in enumerate(actions):
            try:
                reward += self._carry_out(action, episode)
            except (InvalidAction, UnsupportedCapability) as refused:
                for up in letting_go(actions[:number], actions[number + 1 :]):
                    reward += self._play((up,), episode)[0]
                return reward, str(refused)
            if episode.over:
                break
        return reward, ""

    def _carry_out(self, action: Action, episode: _Episode) -> float:
        """Do one action; its reward."""
        match action:
            case Finish(text=text):
                episode.answer = text or episode.answer
                episode.over = True
                return 0.0
            case Fail():
                episode.over = episode.gave_up = True
                return 0.0
            case Answer(text=text):
                episode.answer = text
                return 0.0
            case AskUser():
                raise InvalidAction("there is nobody to ask")
            case Zoom():
                raise InvalidAction("every observation is the whole screen: crop it yourself")
            case _:
                return self._act(action, episode)

    def _act(self, action: DeviceAction, episode: _Episode) -> float:
        limit_s = self._deadlines.of_action(action)
        episode.observation = seen = self._run(episode.sandbox.act(action), limit_s=limit_s)
        if seen.output is not None:
            episode.outputs.append(seen.output)
        episode.pointer = pointer_after((action,), episode.pointer)
        if not isinstance(episode.verifier, RewardingVerifier):
            return 0.0
        earned = self._run(episode.verifier.step_reward(episode.sandbox))
        episode.over = episode.over or earned.terminated
        return earned.reward

    def _judge(self, episode: _Episode) -> float:
        """Reach the verdict; what it adds to the reward."""
        verifier = episode.verifier
        if episode.gave_up and isinstance(verifier, GivenUpVerifier):
            verdict = verifier.score_given_up(episode.sandbox)
        else:
            verdict = verifier.score(episode.sandbox, answer=episode.answer)
        limit_s = self._deadlines.call_s + verdict_s(verifier)
        episode.outcome = outcome = self._run(verdict, limit_s=limit_s)
        return 0.0 if isinstance(verifier, RewardingVerifier) else outcome.score

    def _seen(self, observation: Observation) -> dict[str, Any]:
        if observation.size_px != self._size_px:
            raise SandboxError(f"the screen changed from {self._size_px} to {observation.size_px} pixels")
        episode = self._episode
        return {
            "screenshot": spaces.screen_of(observation),
            "instruction": spaces.shown_instruction(episode.instruction if episode else ""),
        }

    def _info(self, observation: Observation, error: str = "") -> dict[str, Any]:
        episode = self._episode
        return {
            "instruction": episode.instruction if episode else "",
            "task_seed": episode.task.seed if episode else 0,
            "split": split_of(episode.task.id, episode.task.seed).value if episode else self._split.value,
            "url": observation.url,
            "output": "\n".join(filter(None, episode.outputs)) if episode and episode.outputs else None,
            "settled": observation.settled,
            "elements": episode.elements.text if episode else "",
            "error": error,
            "outcome": dataclasses.asdict(episode.outcome) if episode and episode.outcome else None,
        }

    def _run(self, work: Coroutine[Any, Any, T], *, limit_s: float | None = None) -> T:
        try:
            return self._machine.loop.run(work, limit_s=limit_s or self._deadlines.call_s)
        except (InvalidAction, UnsupportedCapability):
            raise
        except BaseException:
            # an interrupt too leaves the sandbox in the middle of something
            self._machine.broken = True
            self._episode = None
            raise


@dataclasses.dataclass(kw_only=True, slots=True)
class _Episode:
    """One episode as it goes."""

    task: Task
    sandbox: Sandbox
    verifier: Verifier
    instruction: str
    observation: Observation
    pointer: Point | None = None
    outputs: list[str] = dataclasses.field(default_factory=list[str])
    """What the actions of the last step returned."""
    elements: Elements = dataclasses.field(default_factory=Elements)
    """What the next reply may name."""
    answer: str | None = None
    outcome: Outcome | None = None
    turns: int = 0
    over: bool = False
    gave_up: bool = False
    began_s: float = dataclasses.field(default_factory=time.monotonic)

    def out_of_time(self) -> bool:
        """No turn or second is left."""
        limits = self.task.limits
        return self.turns >= limits.turns or time.monotonic() - self.began_s >= limits.seconds


def _by_id(task_id: str) -> Callable[[int], Task]:
    from deskhand_sandbox.tasks import make_task

    return lambda seed: make_task(task_id, seed)
