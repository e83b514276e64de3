from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.types import Context, Decision
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click
from deskhand_trainer.click_targets import Hit, TargetWatcher


class Clicks:
    """Always clicks one point."""

    id = "clicks"

    def __init__(self, x: int, y: int) -> None:
        self._click = Click(x=x, y=y)

    async def act(self, context: Context) -> Decision:
        assert context.sandbox is None  # a policy under evaluation never sees the state behind the screen
        return Decision(actions=(self._click,), text="")


@pytest.mark.browser
async def test_the_page_says_what_a_click_hit(tmp_path: Path) -> None:
    settings = HostSettings(kinds={"browser": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    async with (
        start_host(settings) as host,
        SandboxClient(host.url, host.token) as client,
        client.lease("browser", owner="t") as sandbox,
    ):
        task = make_task("miniwob/click-button-sequence", 3)
        start = await sandbox.reset(task)
        context = Context(
            task=task,
            instruction=start.instruction,
            steps=(),
            observation=start.observation,
            sandbox=sandbox,
        )
        (wanted,) = (await ScriptedPolicy().act(context)).actions
        assert isinstance(wanted, Click)
        boxes = await sandbox.evaluate(
            "[...document.querySelectorAll('button')].map(b => { const r = b.getBoundingClientRect();"
            " return [Math.round(r.x + r.width / 2), Math.round(r.y + r.height / 2), r.width / 2]; })"
        )
        assert isinstance(boxes, list)
        centres = [(int(b[0]), int(b[1]), float(b[2])) for b in boxes if isinstance(b, list)]  # type: ignore[arg-type]
        own = min(centres, key=lambda c: abs(c[0] - wanted.x) + abs(c[1] - wanted.y))
        other = next(c for c in centres if c != own)
        for (x, y), hit in (
            ((wanted.x, wanted.y), Hit.RIGHT),
            ((own[0] + int(own[2] / 2), own[1]), Hit.RIGHT),
            ((other[0], other[1]), Hit.WRONG),
            ((158, 208), Hit.MISS),
        ):
            watcher = TargetWatcher(Clicks(x, y))
            await watcher.act(context)
            assert watcher.hits.counts == {hit: 1}
            assert watcher.hits.first == {hit: 1}
