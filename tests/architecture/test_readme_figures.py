"""The README's headline figures are those that were measured last."""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
N = r"(\d*\.?\d+)"
SAID = [
    (rf"tree is {N} times as fast with its fixed", ["sandbox:browser_step_vs_browsergym"]),
    (rf"a whole episode {N} times", ["sandbox:browser_episode_vs_browsergym"]),
    (rf"times, {N} times as it ships", ["sandbox:browser_episode_vs_browsergym_shipped"]),
    (rf"A warm lease takes {N} ms", ["sandbox:lease_warm_ms_p50"]),
    (rf"a desktop is made in {N} ms", ["sandbox:desktop_create_ms_p50"]),
    (
        rf"cloned in {N} s and rewound in {N} s \(emulated; it boots in {N} s\)",
        ["sandbox:vm_clone_ms_p50", "sandbox:vm_rewind_ms_p50", "sandbox:vm_boot_ms_p50"],
    ),
    (
        rf"at 8 pages run at {N} of the rate of .*? \({N} to {N} over",
        ["rollouts:rollout_vs_cdp_8", "rollouts:rollout_vs_cdp_8:low", "rollouts:rollout_vs_cdp_8:high"],
    ),
    (rf"at work {N} % of the time", ["rollouts:env_use_vs_ideal"]),
    (rf"at {N} times lock-step's turns", ["rollouts:async_vs_sync"]),
    (rf"and {N} times those of independent episodes", ["rollouts:async_vs_independent_sync"]),
    (
        rf"on real pages at {N} times \({N} to {N}\) the turns",
        [
            "rollouts:browser_async_vs_sync",
            "rollouts:browser_async_vs_sync:low",
            "rollouts:browser_async_vs_sync:high",
        ],
    ),
    (rf"which allow {N} times at most", ["rollouts:browser_async_vs_sync_bound"]),
    (rf"real pages, {N} examples a second", ["base:examples_per_s"]),
]
"""A sentence with its numbers, and where each comes from: file, figure, and which end of its interval."""


def measured(source: str, sentence: str) -> Decimal:
    """A figure in the unit of the sentence."""
    file, name, end = (*source.split(":"), "value")[:3]
    figures = json.loads((ROOT / f"docs/results/{file}.json").read_text())["figures"]
    value = Decimal(str(figures[name][end]))
    if figures[name]["unit"] == "share" and " %" in sentence:
        return value * 100
    return value / 1000 if figures[name]["unit"] == "ms" and " s " in sentence else value


@pytest.mark.parametrize(("sentence", "sources"), SAID, ids=[sources[0] for _, sources in SAID])
def test_what_the_readme_says_was_measured(sentence: str, sources: list[str]) -> None:
    said = re.search(sentence, " ".join((ROOT / "README.md").read_text().split()))
    assert said is not None, f"the README says it no more: {sentence}"
    for number, source in zip(said.groups(), sources, strict=True):
        figure = measured(source, sentence)
        places = Decimal(1).scaleb(-len(number.partition(".")[2]))
        assert Decimal(number) == figure.quantize(places, ROUND_HALF_UP), f"{source} is {figure}"
