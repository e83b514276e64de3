from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image as Picture

from deskhand_flywheel.lineage import DEEPEST
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore
from deskhand_platform.api.flywheel_models import LineageModel
from deskhand_platform.thumbnails import Thumbnails
from deskhand_sandbox.types import JsonValue

HELD_OUT = "miniwob/click-menu"


async def test_episodes_are_routed_previewed_and_traced(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    won, lost = await record_episode(store), await record_episode(store, success=False)
    order = {"name": "mine", "rules": "rejected: null\npool:\n  outcome: all\n"}
    preview = (await client.post("/v1/datasets/preview", json=order)).json()
    assert [(one["dataset"], one["trajectories"]) for one in preview] == [("mine/sft", 1), ("mine/pool", 2)]
    assert (await client.get("/v1/datasets")).json() == []
    routing = (await client.get("/v1/routing")).json()
    assert routing == {"episodes": 2, "by_kind": {}, "unrouted": 2}

    made = await client.post("/v1/datasets", json=order)
    assert made.status_code == 201
    assert [one["dataset"] for one in made.json()] == ["mine/sft@1", "mine/pool@1"]
    heads = {one["name"]: one for one in (await client.get("/v1/datasets")).json()}
    assert (heads["mine/pool"]["trajectories"], heads["mine/pool"]["successes"]) == (2, 1)
    assert heads["mine/sft"]["recipe"]["rule"] == "success"
    one = (await client.get("/v1/datasets/mine/sft")).json()
    assert (one["versions"], one["trajectory_ids"]) == ([1], [won])
    routing = (await client.get("/v1/routing")).json()
    assert routing == {"episodes": 2, "by_kind": {"rl_pool": 2, "sft": 1}, "unrouted": 0}
    tree = (await client.get("/v1/lineage", params={"dataset": "mine/pool@1"})).json()
    [played] = tree["sources"]
    assert (tree["kind"], played["kind"], played["details"]["successes"]) == ("dataset", "trajectories", 1)
    assert sorted(played["details"]["ids"]) == sorted([won, lost])
    chosen = (await client.get("/v1/datasets/selection", params={"task_id": "fake/door"})).json()
    assert chosen == {"trajectories": 2, "by_outcome": {"success": 1, "failure": 1, "none": 0}}


async def test_a_route_that_takes_nothing_says_what_it_left_out(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    await record_episode(store)
    order = {
        "name": "mine",
        "rules": "sft: null\nrejected: null\npool: {least_success: 0, most_success: 0.5}",
    }
    (preview,) = (await client.post("/v1/datasets/preview", json=order)).json()
    (made,) = (await client.post("/v1/datasets", json=order)).json()
    assert (made["dataset"], made["trajectories"], made["left_out"]) == ("mine/pool", 0, {"difficulty": 1})
    assert made == preview and (await client.get("/v1/datasets")).json() == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("POST", "/v1/datasets/preview", {"rules": "sft: {outcome: sucess}"}, 422, "rules"),
        ("POST", "/v1/datasets/preview", {"rules": "[1"}, 422, "rules"),
        ("POST", "/v1/datasets/preview", {"rules": "sft: 2024-13-45"}, 422, "rules"),
        ("POST", "/v1/datasets/preview", {"rules": "sft: " + "9" * 5000}, 422, "rules"),
        ("POST", "/v1/datasets/preview", {"rules": "sft: " + "[" * 2000}, 422, "rules"),
        ("POST", "/v1/datasets", {"rules": "- sft"}, 422, "rules"),
        ("POST", "/v1/datasets", {"name": "a b"}, 422, "name"),
        ("POST", "/v1/datasets", {"name": "a", "task_id": HELD_OUT}, 422, "task_id"),
        ("POST", "/v1/datasets/preview", {"task_id": HELD_OUT}, 422, "task_id"),
        ("GET", "/v1/datasets/none", None, 404, None),
        ("GET", "/v1/datasets/none?version=3", None, 404, None),
        ("GET", "/v1/lineage", None, 422, "policy"),
        ("GET", "/v1/lineage?dataset=x", None, 422, "dataset"),
        ("GET", "/v1/lineage?dataset=x@1", None, 404, None),
        ("GET", "/v1/lineage?policy=x", None, 404, None),
        ("GET", "/v1/images/" + "0" * 64 + "?width=80", None, 404, None),
        ("GET", "/v1/images/" + "0" * 64 + "?width=0", None, 422, "width"),
    ],
)
async def test_what_cannot_be_had_says_why(
    client: httpx.AsyncClient, method: str, path: str, body: Any, status: int, field: str | None
) -> None:
    answer = await client.request(method, path, json=body)
    assert answer.status_code == status
    assert answer.json()["error"].get("field") == field


def test_the_deepest_lineage_can_be_read_again() -> None:
    """The parser of JSON takes 200 levels."""
    tree: dict[str, Any] = {"kind": "policy", "name": "p", "relation": "", "details": {"seeds": {"a": [1]}}}
    tree |= {"above": False, "kept": True, "cut": True, "sources": []}
    for _ in range(DEEPEST):
        tree = {**tree, "cut": False, "sources": [{**tree, "kind": "trajectories", "sources": [tree]}]}
    whole = LineageModel.model_validate(tree)
    assert LineageModel.model_validate_json(whole.model_dump_json()) == whole


async def test_scorers_calibrations_and_storage(
    client: httpx.AsyncClient, store: Store, record_episode: Any, tmp_path: Path
) -> None:
    episode = await record_episode(store)
    await store.add_scores(
        [
            StepScore(trajectory_id=episode, step_index=index, score=score, scorer="human:ada")
            for index, score in enumerate((0.25, 0.75))
        ]
    )
    [scorer] = (await client.get("/v1/scorers")).json()
    assert (scorer["name"], scorer["scores"], scorer["mean"]) == ("human:ada", 2, 0.5)
    (tmp_path / "model").mkdir()
    (tmp_path / "model/head.bin").write_bytes(b"x" * 100)
    quality: dict[str, JsonValue] = {
        "steps": 4, "settled": 2, "auc": 0.9, "calibration_error": 0.1, "brier": 0.2,
        "bins": [{"count": 4, "mean_score": 0.4, "mean_label": 0.5}],
    }  # fmt: skip
    kept: dict[str, JsonValue] = {
        "scorer": "prm:x", "scaling": {"scale": 1.0, "shift": 0.0}, "measured_on": "held-out tasks",
        "fitted": 8, "before": quality, "after": quality, "kappa": None, "marked": 0,
    }  # fmt: skip
    await store.keep_policy(tmp_path / "model", parent_id=None, metadata={"calibration": {"old": 1}})
    made = await store.keep_policy(tmp_path / "model", parent_id=None, metadata={"calibration": kept})
    [calibration] = (await client.get("/v1/calibrations")).json()
    assert (calibration["policy_id"], calibration["after"]["auc"]) == (made.id, 0.9)
    assert calibration["after"]["bins"] == quality["bins"]

    held = (await client.get("/v1/storage")).json()
    assert held["models"] == {"blobs": 1, "bytes": 100}
    assert held["pictures"]["blobs"] == 3 and held["pictures"]["bytes"] > 100
    assert held["rows"]["trajectories"] == 1 and held["rows"]["steps"] == 2
    assert held["database_bytes"] > 0 and held["free_bytes"] > 0
    assert (await client.get("/v1/storage")).json()["measured_at_s"] == held["measured_at_s"]


async def test_lists_have_small_pictures(
    client: httpx.AsyncClient, store: Store, record_episode: Any, tmp_path: Path
) -> None:
    await record_episode(store)
    [one] = (await client.get("/v1/trajectories")).json()["items"]
    answer = await client.get(one["last_image"]["url"], params={"width": 100})
    assert answer.headers["content-type"] == "image/webp"
    assert "immutable" in answer.headers["cache-control"]
    with Picture.open(io.BytesIO(answer.content)) as small:
        assert small.size == (40, 30)  # never larger than it was

    buffer = io.BytesIO()
    Picture.new("RGB", (1000, 500), "red").save(buffer, "PNG")
    digest = await store.blobs.put(buffer.getvalue())
    made = Thumbnails(store, tmp_path / "small")
    for width, expected in ((1, 80), (80, 80), (81, 160), (900, 640)):
        with Picture.open(io.BytesIO(await made.get(digest, width))) as small:
            assert small.size == (expected, expected // 2)
    assert len(list((tmp_path / "small").glob("*/*.webp"))) == 3
    Thumbnails(store, tmp_path / "small", most_bytes=1).trim()
    assert list((tmp_path / "small").glob("*/*.webp")) == []
    words = await store.blobs.put(b"no picture")
    assert (await client.get(f"/v1/images/{words}?width=80")).status_code == 422


def test_one_small_picture_is_kept_by_several_at_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, both_written, replace = Thumbnails(store, tmp_path), threading.Barrier(2, timeout=30), Path.replace

    def waits(draft: Path, target: Path) -> Path:
        both_written.wait()
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", waits)
    with ThreadPoolExecutor(2) as threads:
        for keeping in [threads.submit(made._keep, tmp_path / "ab" / "abc-80.webp", b"it") for _ in range(2)]:
            keeping.result()
    assert (tmp_path / "ab" / "abc-80.webp").read_bytes() == b"it"
    (tmp_path / "ab" / "gone.webp").symlink_to(tmp_path / "dropped by another")
    made.trim()
    assert [path.name for path in (tmp_path / "ab").glob("abc*")] == ["abc-80.webp"]


async def test_a_preview_needs_a_sandbox_host(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/tasks/preview", json={"task_id": "fake/press-button"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "preview_failed")
    assert (await client.post("/v1/tasks/preview", json={"task_id": "fake/nothing"})).status_code == 422
