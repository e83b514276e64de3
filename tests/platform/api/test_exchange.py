"""Episodes out of one platform and into another, over real connections."""

from __future__ import annotations

import asyncio
import io
import json
import random
import shutil
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from PIL import Image as Picture

from deskhand_agent.checksums import SUMS_FILE
from deskhand_agent.ids import new_id
from deskhand_agent.models.bundle import BUNDLE_FILE
from deskhand_agent.shipped import shipped_model
from deskhand_agent.types import Decision, Step, StepTimings, TrajectoryStart
from deskhand_flywheel.archives import ENDING, failure_in, packed_folder, unpack
from deskhand_flywheel.archives import UnpackingLimits as Limits
from deskhand_flywheel.blobs import digest_of
from deskhand_flywheel.exchange import (
    export_trajectories,
    format_names,
    import_trajectories,
    parquet,
    webdataset,
)
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import SelectionRule, StepScore
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.audit import EntryFilter
from deskhand_platform.accounts.opening import open_accounts
from deskhand_platform.api.exchange_models import ExportFormat, ImportFormat
from deskhand_platform.client import (
    ApiError,
    AsyncDeskhand,
    BrokenOff,
    Conflict,
    Deskhand,
    InvalidRequest,
    Missing,
    NotAllowed,
    ServerTrouble,
)
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api, services_over
from deskhand_platform.settings import Settings, TransferSettings, load_settings
from deskhand_sandbox.types import EnvironmentSpec, Image, Observation, Split, Task, VerifierSpec

Record = Callable[..., Awaitable[str]]


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[tuple[Services, str, str]]:
    """A platform of its own: what it works with, its address and a token."""
    async with await Store.open(settings.db_url, settings.blobs_url) as store:
        accounts, first = await open_accounts(store.database, settings)
        assert first is not None and first.token is not None
        services = services_over(settings, store, accounts, rounds=None, hosting=None)  # type: ignore[arg-type]
        listener = listen("127.0.0.1", 0)
        async with serve_api(services, listener):
            yield services, address_of(listener), first.token


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[tuple[Services, AsyncDeskhand]]:
    settings = load_settings(home=tmp_path / "here", port=0)
    async with served(settings) as (services, url, token), AsyncDeskhand(url, token, patience_s=5) as client:
        yield services, client


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[tuple[Services, AsyncDeskhand]]:
    limits = TransferSettings(import_bytes=3_000_000, unpacked_bytes=4_000_000, unpacked_files=200)
    settings = load_settings(home=tmp_path / "there", port=0, transfers=limits)
    async with served(settings) as (services, url, token), AsyncDeskhand(url, token, patience_s=5) as client:
        yield services, client


def left_over(services: Services) -> list[Path]:
    folder = services.settings.home / "transfers"
    return [*folder.iterdir()] if folder.exists() else []


def contents(folder: Path) -> dict[str, bytes]:
    return {
        one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()
    }


def test_the_formats_are_those_of_the_flywheel() -> None:
    assert get_args(ExportFormat) == format_names()
    assert set(get_args(ImportFormat)) < set(get_args(ExportFormat))


@pytest.mark.parametrize("format", get_args(ExportFormat))
async def test_an_archive_holds_what_the_command_writes(
    here: tuple[Services, AsyncDeskhand],
    record_episode: Record,
    tmp_path: Path,
    format: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (parquet, webdataset):  # files are whole, and sent, long before the end
        monkeypatch.setattr(module, "SHARD_BYTES", 1)
    services, client = here
    ids = [await record_episode(services.store, success=number % 2 == 0) for number in range(4)]
    await export_trajectories(services.store, ids, tmp_path / "command", format)
    await client.export_trajectories(tmp_path / "api", format)
    assert contents(tmp_path / "api") == contents(tmp_path / "command")
    assert len(contents(tmp_path / "api")) > 2
    assert left_over(services) == []
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


async def test_the_files_of_a_policy(here: tuple[Services, AsyncDeskhand], tmp_path: Path) -> None:
    services, client = here
    await client.download_policy("deskhand-tiny", tmp_path / "theirs")
    assert contents(tmp_path / "theirs") == contents(shipped_model())
    assert left_over(services) == []
    with pytest.raises(Missing, match="nobody"):
        await client.download_policy("nobody", tmp_path / "nobody")
    kept = await services.store.policy_named("deskhand-tiny")
    digest = kept.manifest["model.safetensors"]
    (services.settings.home / "blobs" / digest[:2] / digest).unlink()
    with pytest.raises(BrokenOff, match=digest):
        await client.download_policy(kept.id, tmp_path / "lost")
    assert not (tmp_path / "lost").exists()


async def test_a_policy_comes_in_as_it_went_out(here: tuple[Services, AsyncDeskhand], tmp_path: Path) -> None:
    services, client = here
    shutil.copytree(shipped_model(), tmp_path / "mine")
    kept = await client.upload_policy(tmp_path / "mine")
    assert (kept.parent_id, kept.metadata, kept.promoted) == (None, {"name": "mine"}, False)
    assert (await client.upload_policy(tmp_path / "mine")).id == kept.id
    await client.download_policy(kept.id, tmp_path / "back")
    assert contents(tmp_path / "back") == contents(tmp_path / "mine")
    assert left_over(services) == []
    [entry, *_] = await services.accounts.audit.list(EntryFilter(action="/v1/policies"))
    assert kept.id in str(entry)


async def test_only_models_that_can_act_here_come_in(
    here: tuple[Services, AsyncDeskhand],
    there: tuple[Services, AsyncDeskhand],
    tmp_path: Path,
) -> None:
    services, client = here
    shutil.copytree(shipped_model(), tmp_path / "mine")
    (tmp_path / "mine" / SUMS_FILE).unlink()
    weights = (tmp_path / "mine/model.safetensors").read_bytes()
    config = json.loads((tmp_path / "mine/config.json").read_text())
    text = {**config["text_config"], "intermediate_size": 8}
    described = json.loads((tmp_path / "mine" / BUNDLE_FILE).read_text())
    for name, data, said in (
        ("config.json", json.dumps({**config, "model_type": "llama"}).encode(), "'llama' model"),
        ("config.json", json.dumps({**config, "text_config": text}).encode(), "do not fit its config.json"),
        (BUNDLE_FILE, json.dumps({**described, "template": 99}).encode(), "by another version of Deskhand"),
        ("config.json", b"{", "damaged"),
        ("config.json", None, "no config.json"),
        ("model.safetensors", weights[:-8], "damaged"),
        ("model.safetensors", None, "no weights"),
        ("tokenizer.json", None, "no tokenizer"),
        ("pytorch_model.bin", b"x", "pytorch_model.bin, which is not taken"),
        ("modeling.py", b"x", "modeling.py, which is not taken"),
        (SUMS_FILE, b"0" * 64 + b"  config.json\n", "damaged or of another version"),
    ):
        wrong = tmp_path / "wrong"
        shutil.copytree(tmp_path / "mine", wrong)
        (wrong / name).unlink(missing_ok=True)
        if data is not None:
            (wrong / name).write_bytes(data)
        with pytest.raises(InvalidRequest, match=said) as refused:
            await client.upload_policy(wrong)
        assert str(services.settings.home) not in str(refused.value)
        shutil.rmtree(wrong)
    assert await client.policies() == []
    assert left_over(services) == []
    with pytest.raises(ApiError, match=r"transfers\.import_bytes"):
        await there[1].upload_policy(tmp_path / "mine")


@pytest.mark.parametrize("format", get_args(ImportFormat))
async def test_from_one_platform_to_another(
    here: tuple[Services, AsyncDeskhand],
    there: tuple[Services, AsyncDeskhand],
    record_episode: Record,
    tmp_path: Path,
    format: str,
) -> None:
    (one, out), (other, into) = here, there
    ids = [await record_episode(one.store, run="a") for _ in range(2)]
    score = StepScore(trajectory_id=ids[0], step_index=0, score=0.25, scorer="human:ada", rationale="so")
    await one.store.add_scores([score])
    await out.export_trajectories(tmp_path / "files", format)
    done = await into.import_trajectories(tmp_path / "files")
    assert (done.format, done.added, done.present, done.unread) == (format, ids, [], 0)
    again = await into.import_trajectories(tmp_path / "files", format)
    assert (again.added, again.present) == ([], ids)
    for id in ids:
        assert await other.store.trajectory(id, images=True) == await one.store.trajectory(id, images=True)
    assert await other.store.scores(ids[0]) == await one.store.scores(ids[0])
    [entry, _] = await other.accounts.audit.list(EntryFilter(action="/v1/import"))
    assert (entry.status, entry.detail) == (200, f"{format}: 0 new, 2 here already")
    assert left_over(one) == left_over(other) == []


async def test_the_client_that_blocks(
    here: tuple[Services, AsyncDeskhand],
    record_episode: Record,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "empty").mkdir()
    services, client = here
    id = await record_episode(services.store)
    url, token = str(client._http.base_url), client._http.headers["Authorization"].split()[1]

    def there_and_back() -> tuple[list[str], list[str]]:
        with Deskhand(url, token) as blocking:
            blocking.export_trajectories(tmp_path / "out", "ui-tars", ids=[id])
            with pytest.raises(FileExistsError):
                blocking.export_trajectories(tmp_path / "out", "ui-tars")
            monkeypatch.chdir(tmp_path / "empty")
            with pytest.raises(FileExistsError, match="the folder you are in"):
                blocking.export_trajectories(Path(), "ui-tars")
            done = blocking.import_trajectories(tmp_path / "out", "ui-tars")
            return done.added, done.present

    assert await asyncio.to_thread(there_and_back) == ([], [id])


async def test_which_trajectories(
    here: tuple[Services, AsyncDeskhand], record_episode: Record, tmp_path: Path
) -> None:
    services, client = here
    won, lost = (
        await record_episode(services.store, run="a"),
        await record_episode(services.store, success=False, run="b"),
    )
    await services.store.select_dataset("mine/sft", SelectionRule.SUCCESS)
    folders = iter(range(100))

    async def chosen(**how: Any) -> set[str]:
        folder = tmp_path / str(next(folders))
        await client.export_trajectories(folder, "osworld", **how)
        return {one.parent.name for one in folder.rglob("traj.jsonl")}

    assert await chosen() == {won, lost}
    assert await chosen(outcome="failure") == {lost}
    assert await chosen(labels={"run": "a"}) == {won}
    assert await chosen(ids=[lost, lost]) == {lost}
    assert await chosen(dataset="mine/sft@1") == await chosen(dataset="mine/sft") == {won}
    with pytest.raises(InvalidRequest, match="nothing to export"):
        await chosen(task_id="nothing")
    with pytest.raises(InvalidRequest, match="by several") as refused:
        await chosen(ids=[won], outcome="success")
    assert refused.value.field == "dataset"
    with pytest.raises(InvalidRequest, match="of the form NAME"):
        await chosen(dataset="mine@x")
    with pytest.raises(InvalidRequest, match="only whole episodes"):
        await chosen(ended=False)
    for missing in ({"ids": ["nothing"]}, {"dataset": "nothing"}, {"dataset": "mine/sft@9"}):
        with pytest.raises(Missing):
            await chosen(**missing)
    with pytest.raises(InvalidRequest, match="parquet") as unknown:
        await client.export_trajectories(tmp_path / "x", "csv")
    assert unknown.value.field == "format"
    assert not (tmp_path / "x").exists()


async def test_submitters_take_out_their_own_and_bring_nothing_in(
    here: tuple[Services, AsyncDeskhand], record_episode: Record, tmp_path: Path
) -> None:
    services, client = here
    mine, other = await record_episode(services.store, owner="ada"), await record_episode(services.store)
    await services.store.select_dataset("all", SelectionRule.ALL)
    await services.accounts.users.add("ada", Role.SUBMITTER)
    token = (await services.accounts.tokens.create("ada", "x"))[1]
    async with AsyncDeskhand(str(client._http.base_url), token) as ada:
        await ada.export_trajectories(tmp_path / "mine", "osworld")
        assert {one.parent.name for one in (tmp_path / "mine").rglob("traj.jsonl")} == {mine}
        await ada.export_trajectories(tmp_path / "again", "osworld", ids=[mine])
        with pytest.raises(Missing):
            await ada.export_trajectories(tmp_path / "other", "osworld", ids=[mine, other])
        with pytest.raises(NotAllowed):
            await ada.export_trajectories(tmp_path / "other", "osworld", dataset="all")
        with pytest.raises(NotAllowed):
            await ada.import_trajectories(tmp_path / "mine")


async def test_more_than_one_archive_holds(tmp_path: Path, record_episode: Record) -> None:
    settings = load_settings(home=tmp_path / "home", port=0, transfers=TransferSettings(export_steps=5))
    async with served(settings) as (services, url, token), AsyncDeskhand(url, token) as client:
        ids = [await record_episode(services.store) for _ in range(3)]
        with pytest.raises(ApiError, match=r"the 3 trajectories chosen have 6 steps.* 5 "):
            await client.export_trajectories(tmp_path / "out")
        await client.export_trajectories(tmp_path / "out", ids=ids[:2])


def noise(seed: int) -> Image:
    buffer = io.BytesIO()
    Picture.frombytes("RGB", (700, 700), random.Random(seed).randbytes(700 * 700 * 3)).save(buffer, "PNG")
    data = buffer.getvalue()
    return Image(digest=digest_of(data), format="png", width_px=700, height_px=700, data=data)


async def record_large(store: Store, seeds: Iterator[int]) -> list[str]:
    """An episode of one step, with a picture that no packing makes smaller, for each seed."""
    ids: list[str] = []
    task = Task(
        id="fake/door",
        environment=EnvironmentSpec(kind="fake"),
        verifier=VerifierSpec(name="fake"),
        instruction="Open the door",
        seed=3,
    )
    for seed in seeds:
        start = TrajectoryStart(
            id=new_id(), task=task, instruction="", policy_id="scripted", policy_update=0, group_id=None,
            split=Split.TRAIN, started_at_s=float(seed), labels={},
        )  # fmt: skip
        step = Step(
            index=0,
            observation=Observation(screenshot=noise(seed), captured_at_s=0.0, settled_ms=0.0),
            decision=Decision(actions=(), text=""),
            reward=0.0,
            timings=StepTimings(model_ms=0.0, act_ms=0.0, settle_ms=0.0),
            finished_at_s=0.0,
        )
        await store.begin(start)
        await store.step(start.id, step)
        ids.append(start.id)
    return ids


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.02)


async def test_nothing_stays_when_whoever_asked_goes_away(
    here: tuple[Services, AsyncDeskhand], tmp_path: Path
) -> None:
    services, client = here
    ids = await record_large(services.store, iter(range(16)))
    asked = {"format": "osworld", "id": ids}
    for _ in range(3):  # more often than there may be exports at once
        async with client._http.stream("GET", "/v1/export", params=asked) as answer:
            async for _piece in answer.aiter_raw():
                break
            assert len(left_over(services)) == 1
        await until(lambda: left_over(services) == [])
    await client.export_trajectories(tmp_path / "whole", "osworld", ids=ids)
    assert len([*(tmp_path / "whole").rglob("traj.jsonl")]) == len(ids)


async def test_what_is_lost_is_said_where_the_archive_breaks_off(
    here: tuple[Services, AsyncDeskhand], tmp_path: Path
) -> None:
    services, client = here
    settings = services.settings
    async with await Store.open(settings.db_url, settings.blobs_url) as store:  # which knows what it stored
        ids = await record_large(store, iter(range(3)))
        digest = (await store.trajectory(ids[-1])).steps[0].observation.screenshot.digest
    (settings.home / "blobs" / digest[:2] / digest).unlink()
    with pytest.raises(BrokenOff, match=digest):
        await client.export_trajectories(tmp_path / "out", "osworld", ids=ids)
    assert not (tmp_path / "out").exists()
    asked = {"format": "osworld", "id": ids}
    with pytest.raises(httpx.RemoteProtocolError):
        async with client._http.stream("GET", "/v1/export", params=asked) as answer:
            with (tmp_path / "raw.tar").open("wb") as file:
                async for piece in answer.aiter_bytes():
                    file.write(piece)
    assert digest in (failure_in(tmp_path / "raw.tar") or "")
    with pytest.raises(Missing, match=digest):  # at the very beginning it is an answer
        await client.export_trajectories(tmp_path / "out", "osworld", ids=ids[-1:])
    assert left_over(services) == []


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def linked() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        info = tarfile.TarInfo("conversations.jsonl")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("sent", "query", "status", "said"),
    [
        (b"", {}, 422, "no whole tar archive"),
        (random.Random(0).randbytes(50_000), {}, 422, "no whole tar archive"),
        (b"PK\x03\x04" + bytes(3000), {}, 422, "no whole tar archive"),
        (archive(a=b"x"), {}, 422, "archive.* holds nothing that can be imported"),
        (archive(**{"../conversations.jsonl": b"{}"}), {}, 422, "lies outside of the archive"),
        (linked(), {}, 422, "neither a file nor a folder"),
        (archive(**{"conversations.jsonl": b"{"}), {}, 422, "conversations.jsonl.* nothing was imported"),
        (archive(**{"conversations.jsonl": b"[]"}), {"format": "parquet"}, 422, ""),
        (archive(**{"steps/train-00000.parquet": b"PAR1"}), {}, 422, "steps/train-00000.parquet"),
        (archive(**{"a/traj.jsonl": b"\xff\n"}), {}, 422, "traj.jsonl"),
        (archive(big=bytes(4_000_001)), {}, 413, "3,000,000 are taken"),
        (archive(**{str(one): b"" for one in range(201)}), {}, 422, "200 files"),
        (archive(a=b""), {"format": "csv"}, 422, "format"),
        (archive(a=b""), {"format": "webdataset"}, 422, "format"),
        (archive(a=b""), {"dialect": "klingon"}, 422, "klingon"),
    ],
)
async def test_what_is_no_export_is_refused_and_nothing_comes_in(
    there: tuple[Services, AsyncDeskhand], sent: bytes, query: dict[str, str], status: int, said: str
) -> None:
    services, client = there
    refused = await client._http.post("/v1/import", params=query, content=sent)
    assert refused.status_code == status, refused.text
    error = refused.json()["error"]
    assert said.split(".*")[-1] in error["message"] and str(services.settings.home) not in error["message"]
    assert await services.store.trajectory_ids() == ()
    assert left_over(services) == []
    [entry] = await services.accounts.audit.list(EntryFilter(action="/v1/import"))
    assert entry.status == status


async def test_a_small_archive_that_unpacks_to_much(there: tuple[Services, AsyncDeskhand]) -> None:
    import gzip

    services, client = there
    bomb = gzip.compress(archive(**{"conversations.jsonl": bytes(50_000_000)}))
    assert len(bomb) < 100_000
    refused = await client._http.post("/v1/import", content=bomb)
    assert refused.status_code == 422
    assert "unpacks to 1 files of 0.050 GB, and 200 files of 0.004 GB are taken" in refused.text
    assert left_over(services) == []


async def test_one_damaged_picture_keeps_all_out_and_an_id_is_taken_once(
    here: tuple[Services, AsyncDeskhand],
    there: tuple[Services, AsyncDeskhand],
    record_episode: Record,
    tmp_path: Path,
) -> None:
    (one, out), (other, into) = here, there
    for _ in range(3):
        await record_episode(one.store)
    await out.export_trajectories(tmp_path / "files", "osworld")
    picture = sorted((tmp_path / "files").rglob("*.png"))[-1]
    whole = picture.read_bytes()
    picture.write_bytes(whole[:-9])
    with pytest.raises(InvalidRequest, match=picture.name):
        await into.import_trajectories(tmp_path / "files")
    assert await other.store.trajectory_ids() == ()
    picture.write_bytes(whole)
    [*_, rows] = sorted((tmp_path / "files").rglob("deskhand.json"))
    assert len((await into.import_trajectories(tmp_path / "files")).added) == 3
    for file in (rows, rows.with_name("task.json")):
        file.write_text(file.read_text().replace("Open the door", "Open the window"))
    with pytest.raises(Conflict, match="other content"):
        await into.import_trajectories(tmp_path / "files")


async def test_one_that_never_says_its_size_and_one_that_breaks_off(
    there: tuple[Services, AsyncDeskhand],
) -> None:
    services, client = there

    async def long() -> AsyncIterator[bytes]:
        for _ in range(60):
            yield bytes(100_000)

    refused = await client._http.post("/v1/import", content=long())
    assert refused.status_code == 413 and "3,000,000 are taken" in refused.text
    begun = asyncio.Event()

    async def breaking() -> AsyncIterator[bytes]:
        yield bytes(100_000)
        begun.set()
        await asyncio.Event().wait()

    sending = asyncio.create_task(client._http.post("/v1/import", content=breaking()))
    await begun.wait()
    await until(lambda: len(left_over(services)) == 1)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    await until(lambda: left_over(services) == [])


async def test_few_at_a_time(there: tuple[Services, AsyncDeskhand], tmp_path: Path) -> None:
    services, client = there
    going = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x"
        await going.wait()

    sending = [asyncio.create_task(client._http.post("/v1/import", content=slow())) for _ in range(2)]
    await until(lambda: len(left_over(services)) == 2)
    busy = await client._http.post("/v1/import", content=b"")
    assert busy.status_code == 503 and busy.headers["Retry-After"] == "10"
    with pytest.raises(ServerTrouble, match=r"transfers\.at_once"):
        await client.import_trajectories(tmp_path)
    going.set()
    assert {answer.status_code for answer in await asyncio.gather(*sending)} == {422}


async def test_a_folder_in_an_archive_and_osworld_s_examples(
    there: tuple[Services, AsyncDeskhand], record_episode: Record, tmp_path: Path
) -> None:
    services, client = there
    id = await record_episode(services.store)
    await client.export_trajectories(tmp_path / "out", "osworld", ids=[id])
    _as_osworld_left_it(tmp_path / "out")
    examples = tmp_path / "examples" / "os"
    examples.mkdir(parents=True)
    (examples / f"{id}.json").write_text(f'{{"id": "{id}", "instruction": "Do it"}}')
    [added] = (
        await client.import_trajectories(tmp_path / "out", examples=tmp_path / "examples", policy="someone")
    ).added
    summary = await services.store.summary(added)
    assert (summary.policy_id, summary.task_id) == ("someone", f"osworld/{id}")
    assert (await services.store.trajectory(added)).start.instruction == "Do it"
    folded = b"".join(packed_folder(tmp_path / "out", "a/b")) + ENDING
    again = await client._http.post("/v1/import", content=folded, params={"policy": "someone"})
    assert again.status_code == 200


async def test_an_episode_s_own_folder_comes_in_as_it_does_where_it_lies(
    there: tuple[Services, AsyncDeskhand],
    record_episode: Record,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    services, client = there
    id = await record_episode(services.store)
    await client.export_trajectories(tmp_path / "out", "osworld", ids=[id])
    _as_osworld_left_it(tmp_path / "out")
    [rows] = (tmp_path / "out").rglob("traj.jsonl")
    episode = rows.parent
    [added] = (await import_trajectories(services.store, tmp_path / "out")).added
    start = (await services.store.trajectory(added)).start
    assert (start.task.id, start.labels["domain"]) == (f"osworld/{id}", episode.parent.name)
    monkeypatch.chdir(episode)
    for path in (Path(), episode, episode.parent, tmp_path / "out"):
        assert (await import_trajectories(services.store, path)).present == (added,)
        done = await client.import_trajectories(path)
        assert (done.added, done.present) == ([], [added])
    bare = b"".join(packed_folder(episode)) + ENDING
    refused = await client._http.post("/v1/import", content=bare)
    assert refused.status_code == 422 and "traj.jsonl: lies in no folder" in refused.text
    alone = b"".join(packed_folder(episode, "mine")) + ENDING
    [unplaced] = (await client._http.post("/v1/import", content=alone)).json()["added"]
    start = (await services.store.trajectory(unplaced)).start
    assert (start.task.id, start.labels) == ("osworld/mine", {"source": "osworld"})
    (episode / "task.json").write_text('{"id": "told"}')
    named = b"".join(packed_folder(episode)) + ENDING
    [told] = (await client._http.post("/v1/import", content=named)).json()["added"]
    assert (await services.store.summary(told)).task_id == "osworld/told"


def _as_osworld_left_it(folder: Path) -> None:
    """Without what Deskhand adds."""
    for name in ("deskhand.json", "task.json"):
        for one in folder.rglob(name):
            one.unlink()
    for rows in folder.rglob("traj.jsonl"):
        rows.write_text("".join(_without_record(line) for line in rows.read_text().splitlines()))


def _without_record(line: str) -> str:
    row = json.loads(line)
    row.pop("deskhand", None)
    return json.dumps(row) + "\n"


async def test_what_a_killed_platform_left_is_removed(settings: Settings, services: Services) -> None:
    left = settings.home / "transfers" / "x" / "files"
    left.mkdir(parents=True)
    (left / "y").write_bytes(b"z")
    services.transfers.clear()
    assert not (settings.home / "transfers").exists()
    (settings.home / "archive").write_bytes(ENDING)
    unpack(settings.home / "archive", settings.home, Limits(bytes=1, files=1))
