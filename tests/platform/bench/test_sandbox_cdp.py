from __future__ import annotations

import pytest

from deskhand_platform.bench.sandbox import cdp
from deskhand_sandbox.backends.browser.tab import Tab


@pytest.mark.browser
async def test_steps_and_their_settle_times_are_measured_beside_a_bare_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cdp, "COUNTS", (2,))
    monkeypatch.setattr(cdp, "SECONDS", 0.4)
    settle = Tab.settle
    said: list[str] = []
    figures = {each.name: each for each in await cdp.bench_cdp(2, said.append)}
    assert Tab.settle is settle
    assert list(figures) == [
        "browser_vs_cdp_2",
        "browser_vs_cdp_2_settle_ms",
        "browser_vs_cdp_2_bare_settle_ms",
    ]
    for each in figures.values():
        assert each.low is not None and each.high is not None
        assert 0 < each.low <= each.value <= each.high
        assert each.command == "deskhand bench sandbox"
    assert figures["browser_vs_cdp_2"].goal == ">= 0.9"
    assert len(said) == 2
