"""How fast a model acts in real browsers, and what memory that takes.

    deskhand bench actions [MODEL] [--environments 16] [--episodes 96] [--repeats 5] [--results docs/results]

MODEL is a policy, or the folder of a model; what is published is of deskhand-tiny, and figures of another go
where `--results` says. MiniWoB++ tasks are worked greedily on test seeds: in many
environments at once for actions per second, and in one alone for the milliseconds from one to the next.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deskhand_agent.errors import AgentError
from deskhand_agent.inference import Sampling
from deskhand_agent.models.bundle import load_bundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_agent.sinks import MemorySink
from deskhand_agent.worker import WorkerSettings
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.policies import manifest_of
from deskhand_platform.bench.models import model_folder
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.types import Split
from deskhand_trainer.errors import TrainerError
from deskhand_trainer.results import PUBLISHED, Figure, published_or, write_figures, write_results_page
from deskhand_trainer.rollouts import Collected, collect, jobs_of, seed_ranges
from deskhand_trainer.studies.base_tasks import train_tasks
from deskhand_trainer.studies.runs import model_named

COMMAND = "deskhand bench actions"
ALONE_EPISODES = 24
MAX_TOKENS = 40


async def bench_actions(
    model: Path, *, called: str, environments: int, episodes: int, repeats: int
) -> list[Figure]:
    """Measure.

    Args:
        model: a folder.
        called: how it was asked for.
        episodes: of each repeat.

    Raises:
        AgentError, SandboxError, TrainerError: the model cannot be loaded, or there is no Chromium.
    """
    bundle = await asyncio.to_thread(load_bundle, model)
    engine = LocalEngine(bundle, settings=EngineSettings(max_batch=max(16, environments)))
    policy = LocalPolicy(
        bundle=bundle, engine=engine, sampling=Sampling(temperature=0.0, max_tokens=MAX_TOKENS)
    )
    rates: list[float] = []
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder:
        settings = HostSettings(
            kinds={"browser": PoolSettings(max_sandboxes=environments)}, state_folder=Path(folder)
        )
        async with engine, start_host(settings) as host, SandboxClient(host.url, host.token) as client:
            await _work(client, policy, environments, environments, 0)
            for number in range(repeats):
                stats = (await _work(client, policy, environments, episodes, number)).stats
                rates.append(stats.steps / stats.seconds)
                print(f"{rates[-1]:.1f} actions/s", flush=True)
            alone = await _work(client, policy, 1, ALONE_EPISODES, repeats)
    timings = [step.timings for each in alone.trajectories for step in each.steps]
    between = sorted(timing.model_ms + timing.act_ms for timing in timings)
    thinking = statistics.median(timing.model_ms for timing in timings)
    shared: dict[str, Any] = {"command": f"{COMMAND} {called}", "seeds": "test"}
    which = {"model": model_named(manifest_of(model))}
    config = {**which, "environments": environments, "episodes": episodes, "repeats": repeats}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        Figure(
            name=f"actions_per_s_{environments}",
            value=round(statistics.median(rates), 2),
            unit="actions/s",
            low=round(min(rates), 2),
            high=round(max(rates), 2),
            goal=">= 8",
            note=f"greedy, in all; median of {repeats} repeats; low and high: least and most",
            config=config,
            **shared,
        ),
        Figure(
            name="ms_per_action",
            value=round(statistics.median(between), 1),
            unit="ms",
            low=round(between[len(between) // 20], 1),
            high=round(between[-1 - len(between) // 20], 1),
            note=f"one environment: deciding ({thinking:.0f} ms) and acting until the page stands still; "
            f"median of {len(between)}; low and high: 5th and 95th percentile",
            config={**which, "environments": 1, "episodes": ALONE_EPISODES},
            **shared,
        ),
        Figure(
            name="acting_memory_mib",
            value=round(memory),
            unit="MiB",
            note=f"most that the acting process held, {environments} environments; browsers not counted",
            config=config,
            **shared,
        ),
    ]


async def _work(
    source: SandboxSource, policy: LocalPolicy, environments: int, episodes: int, number: int
) -> Collected:
    tasks = train_tasks()
    ranges = seed_ranges(tasks, Split.TEST, episodes=episodes, offset=number * (1 + episodes // len(tasks)))
    return await collect(
        jobs_of(ranges, labels={}),
        policy=policy,
        source=source,
        sink=MemorySink(),
        settings=WorkerSettings(concurrency=environments, void_limit=1),
        owner="bench actions",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write into base.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="How fast a model acts in real browsers.",
        epilog="Example:  deskhand bench actions deskhand-tiny --repeats 3",
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", default=DESKHAND_TINY, help="a policy or a folder (%(default)s)"
    )
    parser.add_argument("--environments", type=int, default=16, help="at once (%(default)s)")
    parser.add_argument("--episodes", type=int, default=96, help="of each repeat (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--results", type=Path, help=f"folder for the figures ({PUBLISHED}, of {DESKHAND_TINY})"
    )
    options = parser.parse_args(arguments)
    if min(options.environments, options.episodes, options.repeats) < 1:
        parser.error("environments, episodes and repeats must be positive")
    try:
        results = published_or(
            options.results, PUBLISHED, of=DESKHAND_TINY, other=options.model != DESKHAND_TINY
        )
        with model_folder(options.model) as model:
            found = asyncio.run(
                bench_actions(
                    model,
                    called=options.model,
                    environments=options.environments,
                    episodes=options.episodes,
                    repeats=options.repeats,
                )
            )
    except (AgentError, FlywheelError, SandboxError, TrainerError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    for each in found:
        print(f"{each.name}: {each.value:g} {each.unit}; {each.note}")
    write_figures(results / "base.json", found)
    write_results_page(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
