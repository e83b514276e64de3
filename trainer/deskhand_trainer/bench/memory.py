"""What each memory keeps over a hundred turns, and what it costs: success, tokens per turn, growth.

    deskhand bench memory [MODEL] [--episodes 20] [--results docs/results]

In `worlds/corridor` digits stand on the walls of a few of 96 rooms, and have to be typed at its door. The
agent is a reader by rule: it acts on what its prompt says and on nothing else, and writes down what it reads
where it is asked to. So success says what a memory loses, not how well a model would use it. "everything"
shows all turns whole: what a memory should be as good as, at a fraction of its tokens.

MODEL is the folder of a model whose tokenizer counts; without one it is that of the tiny model, whose tokens
are mostly single characters.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from deskhand_agent.episode import run_episode
from deskhand_agent.errors import AgentError
from deskhand_agent.grammar import format_reply
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.memory import WindowMemory, memory_of
from deskhand_agent.memory.operations import OPERATE
from deskhand_agent.memory.summary import SUMMARISE
from deskhand_agent.models.bundle import ModelBundle, build_tiny, load_bundle
from deskhand_agent.models.prompting import decode_reply, tokenise_reply
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Trajectory
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Press, Split, TypeText
from deskhand_trainer.errors import TrainerError
from deskhand_trainer.results import PUBLISHED, Figure, published_or, write_figures, write_results_page
from deskhand_trainer.wilson import wilson

COMMAND = "deskhand bench memory"
OWN = "the tiny model's tokenizer"
TASK = "worlds/corridor"
DIGITS = 4
BOUND: dict[str, Any] = {"screens": "text", "n_screenshots": 9, "action_chars": 400, "text_bytes": 9216}
WRITES: dict[str, Any] = {**BOUND, "summary_after": 8, "notes_chars": 400}
ARMS = {
    "everything": WindowMemory(screens="text", n_screenshots=200),
    "window": WindowMemory(**BOUND),
    "summary": WindowMemory(strategy="summary", **WRITES),
    "episodic": WindowMemory(strategy="episodic", **WRITES),
    "operations": WindowMemory(strategy="operations", **WRITES),
    "constant": replace(WindowMemory(**BOUND), strategy="constant", n_screenshots=1),
}
SKIPPED, WIDE = 20, 20
"""First prompts left out of the growth, and prompts its two ends are means of."""
_WALL = re.compile(r"room (\d+) of \d+\non the wall: (\d)")
_NOTED = re.compile(r"room (\d+): (\d)")


class Reader:
    """An engine that reads its prompt: the digits that stand in it, and what it is asked for."""

    def __init__(self, bundle: ModelBundle) -> None:
        self._bundle = bundle
        self._memory = memory_of(bundle.memory)

    async def generate(self, request: CompletionRequest) -> Completion:
        """A reply by rule; see `InferenceEngine.generate`."""
        ids = tokenise_reply(self._bundle, self.reply(decode_reply(self._bundle, request.prompt_ids)))
        return Completion(
            ids=ids,
            logprobs=(0.0,) * len(ids),
            finish_reason=FinishReason.STOP,
            policy_id="reader",
            policy_update=0,
        )

    def reply(self, prompt: str) -> str:
        """What it says to a prompt, given as text."""
        noted = {int(room): digit for room, digit in _NOTED.findall(prompt)}
        known = noted | {int(room): digit for room, digit in _WALL.findall(prompt)}
        if self._memory.question and self._memory.question in prompt:
            whole = self._memory.question == SUMMARISE
            return self._writing({room: known[room] for room in known if whole or room not in noted})
        if "door: " in prompt:
            code = "".join(known[room] for room in sorted(known))
            return format_reply(None, (TypeText(text=code[:DIGITS].ljust(DIGITS, "0")),))
        return format_reply(_listed(known) or None, (Press(keys=("ArrowRight",)),))

    def _writing(self, digits: dict[int, str]) -> str:
        if self._memory.question == OPERATE:
            return "\n".join(f"insert: room {room}: {digit}" for room, digit in sorted(digits.items()))
        return _listed(digits) or "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """One episode of one arm."""

    success: bool
    tokens_per_turn: float
    """Of all prompts, those that ask to write too, over the turns of the task."""
    growth: float
    """Tokens that a prompt gains per prompt before it."""


async def episode(bundle: ModelBundle, seed: int) -> Kept:
    """Walk one corridor under the bundle's memory.

    Raises:
        RuntimeError: the world broke.
    """
    task = make_task(TASK, seed)
    done = await run_episode(
        task,
        sandbox=WorldSandbox(),
        policy=LocalPolicy(bundle=bundle, engine=Reader(bundle), sampling=Sampling(max_tokens=512)),
        verifier=create_verifier(task.verifier),
        sink=MemorySink(),
        split=Split.TEST,
    )
    if done.end is None or done.end.outcome is None:
        raise RuntimeError(f"{TASK} with seed {seed} came to no verdict: {done.end}")
    lengths = _lengths(done)
    turns = sum(step.decision.summary is None for step in done.steps)
    return Kept(
        success=done.end.outcome.success,
        tokens_per_turn=sum(lengths) / turns,
        growth=_growth(lengths[SKIPPED:]),
    )


def figures_of(arm: str, kept: Sequence[Kept], shared: dict[str, Any]) -> list[Figure]:
    """The three figures of one arm."""
    steady = "<= 2" if arm != "everything" else None
    remembers = arm not in ("everything", "window")
    rate = wilson(sum(each.success for each in kept), len(kept))
    note = "a reader by rule that knows what its prompt says: what the memory loses, not what a model would"
    return [
        Figure(
            name=f"success_{arm}",
            value=rate.value,
            unit="share",
            low=rate.low,
            high=rate.high,
            goal=">= 0.9" if remembers else None,
            note=note,
            **shared,
        ),
        _spread(f"tokens_per_turn_{arm}", [each.tokens_per_turn for each in kept], "tokens", None, shared),
        _spread(f"growth_{arm}", [each.growth for each in kept], "tokens", steady, shared),
    ]


async def bench_memory(model: Path | None, *, episodes: int) -> list[Figure]:
    """Measure.

    Args:
        model: a folder; None: the tiny model's tokenizer.

    Raises:
        AgentError: the model cannot be loaded.
    """
    bundle = build_tiny() if model is None else await asyncio.to_thread(load_bundle, model)
    drawn = seeds(TASK, Split.TEST, episodes)
    figures: list[Figure] = []
    for arm, memory in ARMS.items():
        bundle.memory = memory
        kept = [await episode(bundle, seed) for seed in drawn]
        counting = "tiny" if model is None else model.name
        config = {"memory": asdict(memory), "episodes": episodes, "tokenizer": counting}
        shared: dict[str, Any] = {"command": COMMAND, "config": config, "seeds": f"{TASK}, test, {episodes}"}
        figures += figures_of(arm, kept, shared)
        print(*figures[-3:], sep="\n", flush=True)
    return figures


def _lengths(trajectory: Trajectory) -> list[int]:
    requests = (step.decision.request for step in trajectory.steps)
    return [len(request.prompt_ids) for request in requests if request is not None]


def _growth(lengths: Sequence[int]) -> float:
    gained = statistics.mean(lengths[-WIDE:]) - statistics.mean(lengths[:WIDE])
    return gained / (len(lengths) - WIDE)


def _listed(digits: dict[int, str]) -> str:
    return ", ".join(f"room {room}: {digit}" for room, digit in sorted(digits.items()))


def _spread(
    name: str, values: Sequence[float], unit: str, goal: str | None, shared: dict[str, Any]
) -> Figure:
    return Figure(
        name=name,
        value=round(statistics.mean(values), 3),
        unit=unit,
        low=round(min(values), 3),
        high=round(max(values), 3),
        goal=goal,
        note="mean over episodes; low and high: least and most",
        **shared,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="What each memory keeps over a hundred turns, and what it costs.",
        epilog="Example:  deskhand bench memory --episodes 5",
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", type=Path, help="the folder of a model whose tokenizer counts"
    )
    parser.add_argument("--episodes", type=int, default=20, help="corridors walked with each memory")
    parser.add_argument("--results", type=Path, help=f"folder for the figures ({PUBLISHED}, of {OWN})")
    told = parser.parse_args(arguments)
    if told.episodes < 1:
        parser.error(f"--episodes is {told.episodes}: give 1 or more")
    try:
        results = published_or(told.results, PUBLISHED, of=OWN, other=told.model is not None)
        figures = asyncio.run(bench_memory(told.model, episodes=told.episodes))
    except (AgentError, TrainerError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    write_figures(results / "memory.json", figures)
    write_results_page(results)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
