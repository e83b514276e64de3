"""The computer that shows a world."""

from __future__ import annotations

import copy
import threading
import time
import uuid
from collections import OrderedDict

from blake3 import blake3
from PIL import Image as Picture

from deskhand_sandbox.backends.action_checks import check_action
from deskhand_sandbox.backends.in_process import InProcessBackend
from deskhand_sandbox.backends.world.rules import World, make_world
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.errors import (
    InvalidAction,
    InvalidTask,
    SandboxDied,
    UnknownName,
    UnsupportedCapability,
    VerifierError,
)
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import (
    Click,
    DeviceAction,
    Drag,
    Image,
    JsonValue,
    KeyDown,
    KeyUp,
    MovePointer,
    Observation,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    Start,
    Task,
    TypeText,
    Wait,
)


class WorldBackend(InProcessBackend["WorldSandbox"]):
    """Makes sandboxes that show worlds."""

    kind = "world"

    def make(self) -> WorldSandbox:
        return WorldSandbox()


class WorldSandbox(Sandbox):
    """See `Sandbox`. The screen never moves by itself: its settle time is always 0."""

    kind = "world"
    capabilities = frozenset({Capability.EVALUATE, Capability.SNAPSHOT, Capability.FORK})

    def __init__(self, world: World | None = None, reward: float = 0.0) -> None:
        self.id = uuid.uuid4().hex
        self._world = world
        self._reward = reward
        """Earned since it was last asked for."""
        self._dead = False
        self._kept: dict[str, tuple[World, float]] = {}

    async def reset(self, task: Task) -> Start:
        self._living()
        if task.environment.kind != self.kind:
            raise InvalidTask(f"task {task.id} is for a {task.environment.kind} sandbox, not for a world")
        settings = dict(task.environment.settings)
        name = settings.pop("world", None)
        try:
            self._world = make_world(str(name), task.seed, settings)
        except InvalidTask as error:
            raise InvalidTask(f"{task.id}: {error}") from None
        self._reward, self._kept = 0.0, {}
        return Start(
            instruction=task.instruction or self._world.instruction, observation=await self.observe()
        )

    async def observe(self, *, text_tree: bool = False) -> Observation:
        if text_tree:
            raise UnsupportedCapability("a world has no text tree: its terminal says all")
        world = self._there()
        return Observation(
            screenshot=_SHOWN.of(world.draw()),
            captured_at_s=time.time(),
            settled_ms=0.0,
            terminal=world.text(),
        )

    async def act(self, action: DeviceAction) -> Observation:
        world = self._there()
        check_action(action, world.draw().size)
        match action:
            case Press():
                if len(action.keys) != 1:
                    raise InvalidAction("a world takes one key at a time")
                self._reward += world.press(action.keys[0])
            case TypeText():
                for character in action.text:
                    self._reward += world.press("Enter" if character == "\n" else character)
            case Click() | MovePointer() | PointerDown() | PointerUp() | Drag() | Scroll():
                pass  # a terminal has no pointer
            case KeyDown() | KeyUp() | Wait():
                pass  # nothing happens in a world by itself
            case _:
                raise UnsupportedCapability(f"a world has no {type(action).__name__}")
        return await self.observe()

    async def evaluate(self, expression: str) -> JsonValue:
        """`done`, `won`, `score`, `state` by name, and `reward`: what was earned since it was last asked."""
        world = self._there()
        match expression:
            case "done":
                return world.done
            case "won":
                return world.won
            case "score":
                return world.score()
            case "state":
                return dict(world.state())
            case "reward":
                earned, self._reward = self._reward, 0.0
                return earned
            case _:
                known = ("done", "won", "score", "state", "reward")
                raise VerifierError(str(UnknownName("value of a world", expression, known)))

    async def snapshot(self) -> str:
        name = uuid.uuid4().hex
        self._kept[name] = copy.deepcopy(self._there()), self._reward
        return name

    async def restore(self, snapshot_id: str) -> Observation:
        self._living()
        if snapshot_id not in self._kept:
            raise UnknownName("snapshot", snapshot_id, self._kept)
        self._world, self._reward = copy.deepcopy(self._kept[snapshot_id])
        return await self.observe()

    async def forget(self, snapshot_id: str) -> None:
        self._living()
        self._kept.pop(snapshot_id, None)

    async def fork(self, n: int) -> list[Sandbox]:
        world = self._there()
        return [WorldSandbox(copy.deepcopy(world), self._reward) for _ in range(n)]

    def alive(self) -> bool:
        return not self._dead

    async def close(self) -> None:
        self._dead = True

    def _there(self) -> World:
        self._living()
        if self._world is None:
            raise SandboxDied("the world sandbox was given no task yet")
        return self._world

    def _living(self) -> None:
        if self._dead:
            raise SandboxDied("the world sandbox is closed")


class EncodedPictures:
    """The pictures shown last, encoded, by the digests of their pixels: a world shows the same few often."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[tuple[int, int], bytes], Image] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, picture: Picture.Image) -> Image:
        """A drawn picture, encoded."""
        key = picture.size, blake3(picture.tobytes()).digest()
        with self._lock:
            image = self._kept.pop(key, None)
        image = encoded(picture) if image is None else image
        with self._lock:
            self._kept[key] = image
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return image


_SHOWN = EncodedPictures(4096)
