from __future__ import annotations

import time
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.services import Services

DATABASES = ("sqlite", "postgresql")


def told(text: str) -> dict[tuple[str, ...], float]:
    """(name, labels in order of their names) -> value."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_the_platform_stands_in_figures(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    await record_episode(store)
    await record_episode(store, success=False)
    for seed in range(3):
        await client.post("/v1/tasks", json={"task_id": "fake/press-button", "seed": seed})
    for step, loss in ((1, 0.5), (2, 0.25)):
        data = {"loss": loss, "step": step, "note": "words are no figures", "on": True}
        event = Event(id=0, at_s=time.time(), subject="run:r1", kind=EventKind.METRIC, name="ppo", data=data)
        await store.append_event(event)
    begun = (await client.post("/v1/rounds", json={"preset": "smoke"})).json()
    assert (await client.post(f"/v1/rounds/{begun['id']}/pause")).json()["state"] == "paused"
    learned = {"learned_turns": 60}
    await store.append_event(
        Event(
            id=0,
            at_s=time.time(),
            subject="run:r2",
            kind=EventKind.METRIC,
            name="ppo/iteration",
            data=learned,
        )
    )
    long_ago = time.time() - 1000
    await store.append_event(
        Event(
            id=0, at_s=long_ago, subject="run:r2", kind=EventKind.METRIC, name="ppo/iteration", data=learned
        )
    )
    alarm = Event(id=0, at_s=time.time(), subject="run:r1", kind=EventKind.ALARM, name="kl_high", data={})
    await store.append_event(alarm)
    response = await client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    figures = told(response.text)
    assert figures["deskhand_tasks", "queued"] == 3 and figures["deskhand_tasks", "running"] == 0
    assert figures["deskhand_rounds", "paused"] == 1 and ("deskhand_tasks", "paused") not in figures
    assert figures["deskhand_trajectories", "success"] == figures["deskhand_trajectories", "failure"] == 1
    assert figures["deskhand_run", "loss", "r1", "ppo"] == 0.25
    assert ("deskhand_run", "note", "r1", "ppo") not in figures
    assert figures["deskhand_sandbox_host_up",] == 1
    assert figures["deskhand_alarms", "kl_high", "raised", "run:r1"] == 1
    assert figures["deskhand_per_second", "learned_turns"] == 60 / 300
    assert figures["deskhand_per_second", "tasks"] == 0
    assert figures["deskhand_per_second", "episodes"] == 2 / 300
    assert figures["deskhand_per_second", "turns"] >= 2 / 300
    assert figures["deskhand_failures", "dead", "webhook"] == 0
    assert 0 <= figures["deskhand_task_oldest_wait_seconds",] < 60


async def test_figures_need_the_token_and_readiness_does_not(
    anonymous: httpx.AsyncClient, services: Services
) -> None:
    assert (await anonymous.get("/metrics")).status_code == 401
    assert (await anonymous.get("/readyz")).text == "ready\n"
    services.stopping.set()
    refused = await anonymous.get("/readyz")
    assert (refused.status_code, refused.text) == (503, "not ready: it is stopping\n")
