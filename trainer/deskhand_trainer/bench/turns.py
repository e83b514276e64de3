"""Turns of many lengths for the learners that are compared, and what their processes tell of an update."""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, cast

WINDOW = 8
"""Earlier turns that a prompt tells of, at most."""
EPISODE_TURNS = 12
INSTRUCTION, STEP, REPLY = 40, 24, 12
"""Tokens: of an instruction, and the medians of what a step before adds and of a reply."""
SPREAD = 0.6
"""Standard deviation of the logarithm of the two."""
DISTRIBUTION = (
    f"episodes of 1 to {EPISODE_TURNS} turns, prompts of {INSTRUCTION} tokens and for each of up to {WINDOW} "
    f"turns before a lognormal number (median {STEP}, sigma {SPREAD}), replies lognormal (median {REPLY}, "
    f"sigma {SPREAD})"
)

GOING_ON = f"{DISTRIBUTION}; a prompt tells of a step what the prompts before told of it"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """As the agent's are: a window of what was, and a reply."""

    episode: int
    prompt: tuple[int, ...]
    reply: tuple[int, ...]

    @property
    def tokens(self) -> int:
        return len(self.prompt) + len(self.reply)


def drawn_turns(count: int, ids: Sequence[int], *, going_on: bool = False, seed: int = 0) -> list[Turn]:
    """Turns of episodes one after another, until there are enough.

    Args:
        ids: tokens are drawn from these.
        going_on: a prompt tells of a step what those before it told, as an agent's do; otherwise all of its
            tokens are drawn anew.
    """
    draw = random.Random(seed)

    def length(median: float) -> int:
        return max(2, round(median * math.exp(SPREAD * draw.gauss(0, 1))))

    turns: list[Turn] = []
    episode = 0
    while len(turns) < count:
        steps: list[int] = []
        told: list[int] = draw.choices(ids, k=INSTRUCTION) if going_on else []
        for _ in range(min(draw.randint(1, EPISODE_TURNS), count - len(turns))):
            latest = sum(steps[-WINDOW:])
            if going_on:
                told += draw.choices(ids, k=sum(steps[-1:]))
                prompt = told[:INSTRUCTION] + told[len(told) - latest :]
            else:
                prompt = draw.choices(ids, k=INSTRUCTION + latest)
            reply = draw.choices(ids, k=length(REPLY))
            turns.append(Turn(episode=episode, prompt=tuple(prompt), reply=tuple(reply)))
            steps.append(length(STEP))
        episode += 1
    return turns


def write_turns(path: Path, turns: Sequence[Turn]) -> None:
    """For another process."""
    path.write_text(json.dumps([asdict(turn) for turn in turns]))


def read_turns(path: Path) -> list[Turn]:
    """What `write_turns` wrote."""
    return [
        Turn(episode=each["episode"], prompt=tuple(each["prompt"]), reply=tuple(each["reply"]))
        for each in json.loads(path.read_text())
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lap:
    """One update."""

    seconds: float
    """Of processor time."""
    wall_s: float
    peak_mb: float
    """Memory above that with the models loaded, at its highest since then."""


class Stopwatch:
    """A process that is told when to update, and tells how long it took.

    Every line it reads is an update; the answers go where its standard output went, and whatever else it or
    its libraries print goes to standard error.
    """

    def __init__(self, logprobs: Sequence[float]) -> None:
        """
        Args:
            logprobs: of all reply tokens under the weights as loaded, for the processes to be compared.
        """
        self._answers: IO[str] = os.fdopen(os.dup(sys.stdout.fileno()), "w")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        self._began: tuple[float, float] | None = None
        self._resident = _memory_mb("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the highest is counted anew
        self._say(logprobs)

    def wait(self) -> bool:
        """For the next line; False at the end."""
        return bool(sys.stdin.readline())

    def begin(self) -> None:
        """Unless it has begun."""
        self._began = self._began or (time.process_time(), time.perf_counter())

    def end(self) -> None:
        """Unless it has ended."""
        if self._began is None:
            return
        used, wall = self._began
        lap = Lap(
            seconds=time.process_time() - used,
            wall_s=time.perf_counter() - wall,
            peak_mb=_memory_mb("VmHWM") - self._resident,
        )
        self._began = None
        self._say(asdict(lap))

    def _say(self, what: object) -> None:
        print(json.dumps(what), file=self._answers, flush=True)


def _memory_mb(what: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) / 1000
    raise LookupError(f"/proc/self/status has no {what}")


def lap_of(line: str) -> Lap:
    """Read an answer."""
    return Lap(**cast("dict[str, float]", json.loads(line)))
