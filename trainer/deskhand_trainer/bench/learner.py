"""One update of the learner beside one of TRL's PPO: useful tokens per second, and memory.

    deskhand bench learner [--turns 32] [--repeats 7]

TRL's PPO takes no pictures, so the turns are of text, and both train the language model of deskhand-tiny
alone: the same turns, weights, float32 and one thread, a pass over all turns and the optimizer's step. Each
has a process of its own that keeps its model; they take turns, and their processor time counts: other work on
the machine then lengthens neither. The log-probabilities of all replies have to be the same first. Tokens of
prompts and replies are useful, padding is not. Those turns have nothing in common; what it saves to compute
once what turns begin with is measured on others, whose prompts go on from each other.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from deskhand_agent.errors import AgentError
from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.shipped import DESKHAND_TINY, shipped_model
from deskhand_trainer.bench.encoder_calls import encoder_calls
from deskhand_trainer.bench.peers import PeerMissing
from deskhand_trainer.bench.trl import VERSION, trl_folder
from deskhand_trainer.bench.turns import DISTRIBUTION, GOING_ON, Lap, drawn_turns, lap_of, write_turns
from deskhand_trainer.results import Figure, write_figures, write_results_page

COMMAND = "deskhand bench learner"
OURS, THEIRS = "deskhand_trainer.bench.our_arm", "deskhand_trainer.bench.trl_arm"
CLOSE = 1e-4
TRIALS = 2


class Arm:
    """A process that updates when told to."""

    def __init__(
        self, module: str, turns: Path, way: str, microbatch: int, environment: dict[str, str]
    ) -> None:
        self._name = f"{module} {way}"
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed on leaving)
        self._child = subprocess.Popen(
            [sys.executable, "-m", module, str(turns), way, str(microbatch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        )
        self.logprobs = cast("list[float]", json.loads(self._answer()))
        self.laps: list[Lap] = []

    def update(self) -> Lap:
        """Do one, and note it."""
        asked = cast("IO[str]", self._child.stdin)
        asked.write("\n")
        asked.flush()
        self.laps.append(lap_of(self._answer()))
        return self.laps[-1]

    def _answer(self) -> str:
        """Its next line.

        Raises:
            PeerMissing: it ended instead.
        """
        if line := cast("IO[str]", self._child.stdout).readline():
            return line
        self._child.wait()
        self._said.seek(0)
        raise PeerMissing(f"{self._name} ended: {self._said.read()[-800:]}")

    def __enter__(self) -> Arm:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.communicate()
        self._said.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Compared:
    """Rates and memory of every arm, repeat by repeat."""

    arms: dict[str, list[Lap]]
    useful: int
    shared: dict[str, Any]

    def rates(self, arm: str) -> list[float]:
        return [self.useful / lap.seconds for lap in self.arms[arm]]

    def ratios(self, arm: str, other: str, scale: float = 1.0) -> list[float]:
        return [scale * a / b for a, b in zip(self.rates(arm), self.rates(other), strict=True)]

    def figure(
        self, name: str, values: Sequence[float], unit: str, note: str, goal: str | None = None
    ) -> Figure:
        note = f"{note}; median of {len(values)}; low and high: least and most"
        return Figure(
            name=name, value=round(statistics.median(values), 2), unit=unit, goal=goal, note=note,
            low=round(min(values), 2), high=round(max(values), 2), **self.shared,
        )  # fmt: skip

    def peak(self, name: str, arm: str, whose: str) -> Figure:
        note = f"{whose}: highest memory of the process above that with its models loaded"
        return Figure(
            name=name, value=round(max(lap.peak_mb for lap in self.arms[arm]), 1), unit="MB", note=note,
            **self.shared,
        )  # fmt: skip


def bench_learner(count: int, repeats: int, say: Callable[[str], None]) -> list[Figure]:
    """Agree, then measure.

    Raises:
        PeerMissing: TRL cannot be fetched, or does not run here.
        AgentError: the model cannot be loaded.
        AssertionError: the log-probabilities differ.
    """
    trl = {
        "PYTHONPATH": os.pathsep.join([str(trl_folder()), os.environ.get("PYTHONPATH", "")]),
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "HF_HUB_OFFLINE": "1",
    }
    bundle = load_bundle(shipped_model())
    turns = drawn_turns(count, _writable(bundle))
    lengths = [turn.tokens for turn in turns]
    longest_over_mean = max(lengths) * len(lengths) / sum(lengths)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        file = Path(folder) / "turns.json"
        write_turns(file, turns)

        def arm(module: str, way: str, microbatch: int = count) -> Arm:
            told = trl if module == THEIRS else {"TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "compiled")}
            return opened.enter_context(Arm(module, file, way, microbatch, told))

        arms = {
            "packed": arm(OURS, "packed"),
            "padded": arm(OURS, "padded"),
            "compiled": arm(OURS, "compiled"),
            "trl": arm(THEIRS, "own"),
            "trl_thin_critic": arm(THEIRS, "thin"),
        }
        best = _quickest(arms["trl"], lambda size: Arm(THEIRS, file, "own", size, trl), count, say)
        if best != count:
            arms["trl_best"] = arm(THEIRS, "own", best)
        _agree(arms, say)
        for number in range(-1, repeats):  # the first warms up
            order = list(arms) if number % 2 else list(reversed(arms))
            for name in order:
                lap = arms[name].update()
                say(f"{number + 1}/{repeats} {name:14} {sum(lengths) / lap.seconds:8.0f} tokens/s")
        found = {name: each.laps[1:] for name, each in arms.items()}
        compiling = arms["compiled"].laps[0]
    config = {
        "model": DESKHAND_TINY, "turns": count, "tokens": sum(lengths), "longest": max(lengths),
        "drawn": DISTRIBUTION, "microbatch": count, "trl_best_microbatch": best, "repeats": repeats,
        "threads": 1, "dtype": "float32", "trl": VERSION,
    }  # fmt: skip
    shared: dict[str, Any] = {"command": COMMAND, "config": config, "seeds": 0}
    seen = _Compared(arms=found, useful=sum(lengths), shared=shared)
    return _figures(seen, longest_over_mean, compiling)


def bench_beginnings(count: int, repeats: int, say: Callable[[str], None]) -> list[Figure]:
    """Our learner beside itself, where it computes every turn whole.

    Raises:
        AgentError: the model cannot be loaded.
        AssertionError: the log-probabilities differ.
    """
    turns = drawn_turns(count, _writable(load_bundle(shipped_model())), going_on=True)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        file = Path(folder) / "turns.json"
        write_turns(file, turns)
        arms = {way: opened.enter_context(Arm(OURS, file, way, count, {})) for way in ("packed", "apart")}
        _agree(arms, say)
        for number in range(-1, repeats):
            for way in list(arms) if number % 2 else list(reversed(arms)):
                say(f"{number + 1}/{repeats} {way:14} {arms[way].update().seconds:8.2f} s")
        found = {way: each.laps[1:] for way, each in arms.items()}
    useful = sum(turn.tokens for turn in turns)
    config = {
        "model": DESKHAND_TINY, "turns": count, "tokens": useful, "drawn": GOING_ON, "microbatch": count,
        "repeats": repeats, "threads": 1, "dtype": "float32",
    }  # fmt: skip
    seen = _Compared(arms=found, useful=useful, shared={"command": COMMAND, "config": config, "seeds": 0})
    note = (
        "useful tokens per second of processor time of one update, of turns whose prompts go on from each "
        "other: what they begin with computed once, over every turn computed whole"
    )
    return [seen.figure("learner_once_vs_whole", seen.ratios("packed", "apart"), "times", note)]


def _writable(bundle: ModelBundle) -> list[int]:
    """Ids that a prompt may hold anywhere."""
    suppressed = {*bundle.suppressed_ids.tolist(), bundle.end_id, 0}
    return [i for i in range(len(bundle.tokenizer)) if i not in suppressed]


def _quickest(whole: Arm, other: Callable[[int], Arm], count: int, say: Callable[[str], None]) -> int:
    """TRL's best micro-batch: all turns, or fewer that divide them."""
    found = {count: min(whole.update().seconds for _ in range(TRIALS))}
    for size in (4, 8, 16):
        if count % size == 0 and size < count:
            with other(size) as tried:
                found[size] = min(tried.update().seconds for _ in range(TRIALS))
    for size, seconds in found.items():
        say(f"TRL, micro-batches of {size}: {seconds:.2f} s")
    whole.laps.clear()
    return min(found, key=lambda size: found[size])


def _agree(arms: dict[str, Arm], say: Callable[[str], None]) -> None:
    ours, *others = arms.values()
    apart = max(abs(a - b) for other in others for a, b in zip(ours.logprobs, other.logprobs, strict=True))
    assert apart < CLOSE, f"log-probabilities of the replies differ by {apart}"
    say(f"log-probabilities of {len(ours.logprobs)} reply tokens agree to {apart:.1e}")


def _figures(seen: _Compared, longest_over_mean: float, first: Lap) -> list[Figure]:
    alone = (
        f"useful tokens per second of processor time of one update, ours packed over TRL {VERSION}'s PPO, on "
        "the language model alone, which is all that TRL's PPO takes"
    )
    best = "trl_best" if "trl_best" in seen.arms else "trl"
    made = [
        seen.figure(
            "learner_vs_trl", seen.ratios("packed", "trl"), "times",
            f"{alone}; its critic has a trunk of its own, ours reads the policy's states", ">= 2",
        ),
        seen.figure(
            "learner_vs_trl_best", seen.ratios("packed", best), "times",
            f"{alone}, at its own best micro-batch",
        ),
        seen.figure(
            "learner_vs_trl_thin_critic", seen.ratios("packed", "trl_thin_critic"), "times",
            f"{alone}, its critic of one layer only",
        ),
        seen.figure(
            "learner_vs_padded", seen.ratios("packed", "padded"), "times",
            "useful tokens per second of processor time, turns packed over turns padded to the longest",
        ),
        seen.figure(
            "learner_vs_packing_ceiling", seen.ratios("packed", "padded", 1 / longest_over_mean), "times",
            f"packed over padded, over the longest turn by the mean one ({longest_over_mean:.2f}); above 1 "
            "where attention gains too",
            ">= 0.9",
        ),
        seen.figure(
            "learner_compiled_vs_eager", seen.ratios("compiled", "packed"), "times",
            "useful tokens per second of processor time, turns packed, with `compile` over without it; the "
            f"first update, which compiles, took {first.wall_s:.0f} s",
        ),
        seen.figure("learner_tokens_per_s", seen.rates("packed"), "tokens/s", "ours, packed"),
        seen.figure("trl_tokens_per_s", seen.rates("trl"), "tokens/s", "TRL's PPO"),
        seen.peak("learner_peak_mb", "packed", "ours, packed"),
        seen.peak("learner_padded_peak_mb", "padded", "ours, padded"),
        seen.peak("trl_peak_mb", "trl", "TRL's PPO"),
    ]  # fmt: skip
    return [*made, *encoder_calls(COMMAND)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write into trainer.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="One update of the learner beside one of TRL's PPO: speed and memory.",
        epilog="Example:  deskhand bench learner --turns 16 --repeats 3",
    )
    parser.add_argument("--turns", type=int, default=32, help="of an update (%(default)s)")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--results", type=Path, default=Path("docs/results"), help="folder for the figures")
    options = parser.parse_args(arguments)
    if options.turns < 2 or options.repeats < 1:
        parser.error("there must be two turns and one repeat at least")

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        figures = bench_beginnings(options.turns, options.repeats, say)
        figures += bench_learner(options.turns, options.repeats, say)
    except (PeerMissing, AgentError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    print(*figures, sep="\n")
    write_figures(options.results / "trainer.json", figures)
    write_results_page(options.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
