"""What reads and changes records: the same of this home and of a platform at an address."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeScore, SelectionRule
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.cli import tasks
from deskhand_platform.settings import Settings

Deskhand = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
async def ids(store: Store, settings: Settings, record_episode: Any) -> dict[str, str]:
    """An episode that judges and people disagree on, and a policy that learned from it."""
    episode = await record_episode(store, run="one")
    await store.add_outcome_scores([OutcomeScore(trajectory_id=episode, score=0.1, scorer="judge:m@1")])
    await store.mark(episode, 0, "ada", 1.0)
    await store.mark(episode, 0, "bob", 1.0)
    await store.select_dataset("demo/sft", SelectionRule.SUCCESS)
    folder = settings.home / "kept"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    metadata = {"run": "demo", "kind": "sft", "dataset": "demo/sft@1"}
    policy = await store.keep_policy(folder, parent_id=None, metadata=metadata)
    return {"episode": episode, "policy": policy.id}


async def test_what_is_read_is_printed_the_same_here_and_elsewhere(
    there: Deskhand, beside: Deskhand, ids: dict[str, str], accounts: Accounts
) -> None:
    await accounts.users.add("ada", Role.ANNOTATOR)
    assert (await there("policies", "list"))[0] == 0  # from now on the token has been used
    for line, part in (
        ("trajectories list --outcome success --min-steps 2 --text handle", ids["episode"]),
        ("replay {episode}", "  1  +1.000  type"),
        ("replay {episode} --html", "</html>"),
        ("trajectories show {episode}", "outcome_detail: looked"),
        ("trajectories show {episode} --json", '"outcome_detail": "looked"'),
        ("policies list", ids["policy"]),
        ("policies show {policy}", "dataset: demo/sft@1"),
        ("flywheel lineage {policy}", "dataset demo/sft@1, 1 trajectories"),
        ("flywheel lineage {policy} --json", '"kind": "dataset"'),
        ("flywheel agreement --label run=one", "1 steps marked by several, 2 marks"),
        ("flywheel agreement --json", '"human:bob"'),
        ("flywheel review --label run=one", "judge:m@1"),
        ("flywheel review --json", '"verifier_judge"'),
        ("flywheel review-rules", "verifier_judge:"),
        ("flywheel lineage demo/sft@1", "1 succeeded"),
        ("flywheel datasets", "demo/sft@1"),
        ("flywheel datasets demo/sft@1", "{episode}"),
        ("flywheel route --name mine --preview", "mine/sft"),
        ("trajectories step {episode} 1", '"index": 1'),
        ("trajectories annotations {episode}", "bob"),
        ("settings webhooks --json", '"webhooks.per_owner"'),
        ("audit --user nobody", "came to"),
        ("users quotas", "of any"),
        ("users list", "owner"),
        ("users list --json", '"annotator"'),
        ("tokens list", "machine"),
        ("tokens list --user owner --json", '"machine"'),
        ("annotators list", "ada"),
    ):
        asked = line.format(**ids).split()
        status, printed, said = await there(*asked)
        assert (status, said) == (0, ""), line
        assert part.replace("{episode}", ids["episode"]) in printed, line
        assert await beside(*asked) == (0, printed, ""), line


@pytest.mark.parametrize(
    "line",
    [
        "alarms list", "annotators list", "evaluations list", "evaluations suites", "flywheel datasets",
        "jobs list", "policies list", "rounds list", "rounds promotions", "rounds schedules list",
        "sandbox leased", "tasks list fake", "tasks proposals", "tasks submitted",
        "trajectories list --label run=one", "webhooks list",
    ],
)  # fmt: skip
async def test_every_list_is_json_for_programs(there: Deskhand, ids: dict[str, str], line: str) -> None:
    status, printed, said = await there(*line.split(), "--json")
    assert status == 0, said
    shown = json.loads(printed)
    assert isinstance(shown, list)
    if line.startswith(("policies", "trajectories")):
        assert [one["id"] for one in shown] == [ids["policy" if line == "policies list" else "episode"]]


async def test_trajectories_are_listed_by_label(there: Deskhand, ids: dict[str, str]) -> None:
    assert ids["episode"] in (await there("trajectories", "list", "--label", "run=one"))[1]
    assert ids["episode"] not in (await there("trajectories", "list", "--label", "run=two"))[1]


async def test_the_model_of_the_package_is_shown_by_its_name(there: Deskhand, ids: dict[str, str]) -> None:
    status, shown, said = await there("policies", "show", "deskhand-tiny")
    assert status == 0 and "name: deskhand-tiny" in shown, said
    assert (await there("flywheel", "lineage", "deskhand-tiny"))[0] == 0
    assert (await there("evaluations", "compare", "deskhand-tiny", ids["policy"]))[0] == 0
    assert "deskhand-tiny" in (await there("policies", "list"))[1]


async def test_one_submitted_task_is_shown(there: Deskhand) -> None:
    id = (await there("submit", "fake/press-button"))[1].strip()
    assert json.loads((await there("tasks", "show", id))[1])["state"] == "queued"
    status, _, said = await there("tasks", "watch", id, "nobody", "--no-follow")
    assert (status, "no submitted task 'nobody'" in said) == (2, True)


async def test_of_a_file_that_is_refused_in_the_middle_what_is_queued_is_told(
    there: Deskhand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "BATCH", 2)
    file = tmp_path / "tasks.jsonl"
    good = '{"task_id": "fake/press-button"}'
    file.write_text("\n".join([good, "", good, good, '{"task_id": "fake/nothing"}']))
    status, printed, said = await there("tasks", "submit", str(file))
    assert status == 2 and "up to line 3 all are queued" in said and "line 5.task_id" in said
    queued = json.loads((await there("tasks", "submitted", "--json"))[1])
    assert printed.split() == [one["id"] for one in queued][::-1] and len(queued) == 2


async def test_a_file_sent_again_under_its_key_queues_nothing_twice(
    there: Deskhand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "BATCH", 2)
    file = tmp_path / "tasks.jsonl"
    good = '{"task_id": "fake/press-button"}'
    own = '{"task_id": "fake/press-button", "key": "mine"}'
    file.write_text("\n".join([good, "", own, good, "3"]))
    status, first, said = await there("tasks", "submit", str(file), "--key", "nightly")
    assert status == 2 and "up to line 3 all are queued; sent again, they would not be queued twice" in said
    file.write_text("\n".join([good, "", own, good, good]))
    status, printed, _ = await there("tasks", "submit", str(file), "--key", "nightly")
    assert status == 0 and printed.startswith(first) and len(printed.split()) == 4
    # another task in the place of the first is not taken for it
    file.write_text('{"task_id": "fake/press-in-order"}')
    status, _, said = await there("tasks", "submit", str(file), "--key", "nightly")
    assert status != 0 and "nightly-1" in said
    status, again, _ = await there("tasks", "submit", str(file), "--key", "other")
    queued = json.loads((await there("tasks", "submitted", "--json"))[1])
    assert status == 0 and [one["id"] for one in queued] == [*again.split(), *printed.split()[::-1]]


async def test_an_evaluation_that_is_not_done_says_so(there: Deskhand) -> None:
    id = (await there("evaluations", "ask", "fake/press-button"))[1].strip()
    status, _, said = await there("evaluations", "show", id)
    assert status == 0 and f"{id} is queued, 0 of" in said


async def test_replays_are_written_to_a_file(there: Deskhand, ids: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "replay.html"
    assert (await there("replay", ids["episode"], "--html", "-o", str(page)))[:2] == (0, "")
    assert "</html>" in page.read_text()


async def test_people_of_a_platform_elsewhere_come_and_go(there: Deskhand, accounts: Accounts) -> None:
    status, password, said = await there("users", "add", "ada", "--role", "researcher")
    assert (status, said) == (0, "The password, shown this once:\n")
    assert await accounts.users.knows_password("ada", password.strip())
    assert await there("users", "password", "ada", "--ask", told="chosen by ada\n") == (0, "", "")
    assert await accounts.users.knows_password("ada", "chosen by ada")
    status, _, said = await there("users", "password", "ada", "--ask", told="\n")
    assert status == 2 and "password" in said
    assert await accounts.users.knows_password("ada", "chosen by ada")
    assert (await there("users", "role", "ada", "operator"))[0] == 0
    assert (await there("users", "disable", "ada"))[0] == 0
    ada = await accounts.users.get("ada")
    assert (ada.role, ada.disabled) == (Role.OPERATOR, True)
    assert (await there("users", "disable", "ada", "--undo"))[0] == 0
    assert not (await accounts.users.get("ada")).disabled
    assert await there("users", "add", "ci", "--token-only") == (0, "", "")
    assert not (await accounts.users.get("ci")).has_password


async def test_tokens_of_a_platform_elsewhere_come_and_go(there: Deskhand, accounts: Accounts) -> None:
    await accounts.users.add("ci", Role.SUBMITTER)
    made = await there(
        "tokens", "create", "nightly", "--user", "ci", "--scope", "tasks:write", "--lasts", "90d"
    )
    came = await accounts.tokens.holder(made[1].strip())
    assert came is not None and (came.name, came.scopes) == ("ci", {"tasks:write"})
    [kept] = json.loads((await there("tokens", "list", "--user", "ci", "--json"))[1])
    own = (await there("tokens", "create", "laptop"))[1].strip()
    came = await accounts.tokens.holder(own)
    assert came is not None and came.name == "owner"
    assert (await there("tokens", "revoke", kept["id"]))[0] == 0
    assert await accounts.tokens.holder(made[1].strip()) is None


async def test_who_administers_nothing_sees_and_makes_their_own_tokens(
    there: Deskhand, person: Callable[..., Awaitable[str]], accounts: Accounts
) -> None:
    token = await person("ada", Role.RESEARCHER)
    listed = json.loads((await there("tokens", "list", "--json", token=token))[1])
    assert [one["owner"] for one in listed] == ["ada"]
    made = await there("tokens", "create", "laptop", token=token)
    came = await accounts.tokens.holder(made[1].strip())
    assert came is not None and came.name == "ada"


async def test_annotators_of_a_platform_elsewhere_come_and_go(there: Deskhand, accounts: Accounts) -> None:
    token = (await there("annotators", "add", "ada"))[1].strip()
    came = await accounts.tokens.holder(token)
    assert came is not None and (came.name, came.role) == ("ada", Role.ANNOTATOR)
    assert not (await accounts.users.get("ada")).has_password
    status, _, said = await there("annotators", "remove", "owner")
    assert status == 1 and "no annotator" in said
    assert (await there("annotators", "remove", "ada"))[0] == 0
    assert await accounts.tokens.holder(token) is None
    again = (await there("annotators", "add", "ada"))[1].strip()
    assert await accounts.tokens.holder(again) is not None and await accounts.tokens.holder(token) is None


async def test_episodes_elsewhere_are_routed_by_rules_of_this_machine(
    there: Deskhand, ids: dict[str, str], store: Store, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("sft: {clean: false}\npool: null\nrejected: null\n")
    routed = await there("flywheel", "route", str(rules), "--name", "mine", "--label", "run=one")
    assert [line.split() for line in routed[1].splitlines()[1:]] == [["mine/sft@1", "sft", "1"]]
    assert (await store.dataset("mine/sft", 1)).trajectory_ids == (ids["episode"],)
    for command in ("route", "review"):
        rules.write_text("nonsense: {outcome: sucess}\n")
        status, _, said = await there("flywheel", command, *(["--rules"] * (command == "review")), str(rules))
        assert status == 2 and "rules" in said, said
        rules.unlink()
        status, _, said = await there("flywheel", command, *(["--rules"] * (command == "review")), str(rules))
        assert status == 2 and "rules.yaml cannot be read" in said


COMMANDS = (
    "trajectories list",
    "replay {episode}",
    "replay {episode} --html",
    "policies list",
    "policies show {policy}",
    "trajectories show {episode}",
    "flywheel lineage {policy}",
    "flywheel agreement",
    "flywheel review",
    "flywheel review-rules",
    "flywheel review-rules --reset",
    "flywheel route",
    "users list",
    "users add bob",
    "users password owner",
    "users role owner submitter",
    "users disable owner",
    "tokens list --user owner",
    "tokens create x --user owner",
    "tokens revoke machine",
    "annotators list",
    "annotators add bob",
    "annotators remove owner",
)


async def test_a_wrong_token_is_told_what_to_do(there: Deskhand, ids: dict[str, str]) -> None:
    for line in COMMANDS:
        status, printed, said = await there(*line.format(**ids).split(), token="wrong")
        assert (status, printed) == (1, ""), line
        assert "has expired or was revoked; set DESKHAND_TOKEN" in said, line


async def test_a_token_for_something_else_is_told_what_it_lacks(
    there: Deskhand, ids: dict[str, str], accounts: Accounts
) -> None:
    await accounts.users.add("ada", Role.ADMIN)
    _, token = await accounts.tokens.create("ada", "tasks alone", scopes=["tasks:read"])
    for line in COMMANDS:
        status, printed, said = await there(*line.format(**ids).split(), token=token)
        assert (status, printed) == (1, ""), line
        why = ("needs the scope", "for administrators", "sign in by password")
        assert any(each in said for each in why), (line, said)


async def test_roles_that_may_not_are_told_so(
    there: Deskhand, ids: dict[str, str], person: Callable[..., Awaitable[str]]
) -> None:
    submitter, annotator = await person("sam", Role.SUBMITTER), await person("ann", Role.ANNOTATOR)
    for line in COMMANDS[6:10]:
        status, _, said = await there(*line.format(**ids).split(), token=submitter)
        assert status == 1 and "an administrator can give another" in said, (line, said)
    for line in COMMANDS[10:]:
        status, _, said = await there(*line.format(**ids).split(), token=annotator)
        hidden = line.startswith("tokens revoke")  # whose it is, is not told either
        assert status == (2 if hidden else 1), (line, said)
        assert ("no token" if hidden else "administrator") in said, (line, said)
    assert ids["episode"] not in (await there("trajectories", "list", token=submitter))[1]
    status, _, said = await there("replay", ids["episode"], token=submitter)
    assert status == 2 and "no trajectory" in said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("replay nothing", "no trajectory 'nothing'"),
        ("replay nothing --html", "no trajectory 'nothing'"),
        ("trajectories show nothing", "no trajectory 'nothing'"),
        ("policies show nothing", "no policy 'nothing'"),
        ("trajectories list --text=-admin", "text"),
        ("flywheel lineage nothing", "no policy 'nothing'"),
        ("users password adda", "did you mean ada"),
        ("users role adda operator", "did you mean ada"),
        ("users disable adda", "did you mean ada"),
        ("tokens create x --user adda", "no user 'adda'"),
        ("tokens create x --scope tasks:eat", "tasks:eat"),
        ("tokens revoke nothing", "no token 'nothing'"),
        ("annotators remove adda", "did you mean ada"),
    ],
)
async def test_what_there_is_not_is_said_in_one_sentence_here_and_elsewhere(
    there: Deskhand, beside: Deskhand, accounts: Accounts, line: str, why: str
) -> None:
    await accounts.users.add("ada", Role.ANNOTATOR)
    status, printed, said = await there(*line.split())
    assert (status, printed) == (2, "")
    assert why in said and said.startswith("deskhand: ") and said.count("\n") == 1
    assert await beside(*line.split()) == (status, printed, said)


async def test_the_address_may_stand_in_the_settings(
    beside: Deskhand,
    url: str,
    token: str,
    ids: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.yaml").write_text(f"url: {url}\n")
    said = await beside("policies", "list", home=tmp_path / "other", DESKHAND_TOKEN=token)
    assert said[0] == 0 and ids["policy"] in said[1]
    monkeypatch.setenv("DESKHAND_URL", "")
    said = await beside("policies", "list", home=tmp_path / "other", DESKHAND_TOKEN=token)
    assert said[0] == 0 and ids["policy"] not in said[1]
    monkeypatch.setenv("DESKHAND_URL", url)
    said = await beside("policies", "list", home=tmp_path, DESKHAND_TOKEN=token)
    assert said[0] == 0 and ids["policy"] in said[1]


async def test_reading_an_empty_home_makes_nobody_its_administrator(beside: Deskhand) -> None:
    assert (await beside("trajectories", "list"))[2] == ""
    assert "name      owner" in (await beside("users", "list"))[2]


async def test_steps_are_marked_and_noted(there: Deskhand, ids: dict[str, str], store: Store) -> None:
    episode = ids["episode"]
    assert await there("trajectories", "mark", episode, "0", "--step", "1", "--reason", "It missed.") == (
        0,
        "",
        "",
    )
    assert await there("trajectories", "mark", episode, "1") == (0, "", "")
    status, note, _ = await there("trajectories", "note", episode, "1", "The handle?")
    assert status == 0 and [one.id for one in await store.notes(episode)] == [note.strip()]
    shown = (await there("trajectories", "annotations", episode))[1]
    assert "It missed." in shown and "The handle?" in shown
    assert (await there("trajectories", "mark", episode, "--undo"))[0] == 0
    assert (await there("trajectories", "mark", episode, "--undo"))[0] == 2
    assert (await there("trajectories", "mark", episode))[0] == 2


async def test_how_a_platform_stands(there: Deskhand, accounts: Accounts, person: Any) -> None:
    assert (await there("submit", "fake/press-button"))[0] == 0
    status, shown, _ = await there("status")
    assert status == 0 and "you are owner, admin" in shown and "tasks: 1 queued" in shown
    assert json.loads((await there("status", "--json"))[1])["now"]["tasks"]["queued"] == 1
    status, told, _ = await there("events", "--no-follow")
    assert status == 0 and all("subject" in json.loads(line) for line in told.splitlines())
    assert "1 trajectories" not in (await there("flywheel", "status"))[1]
    assert json.loads((await there("flywheel", "status", "--json"))[1])["routing"]["episodes"] == 0
    assert (await there("sandbox", "leased"))[0] == 0
    assert (await there("tasks", "list", "fake/press-button"))[1].count("fake/press-button") == 1
    assert "smoke" in (await there("rounds", "presets"))[1]
    assert "smoke" in {one["name"] for one in json.loads((await there("rounds", "presets", "--json"))[1])}
    began = [(await there("rounds", "start", "smoke", "--key", key))[1] for key in ("a", "a", "b")]
    assert began == ["Round 1\n", "Round 1\n", "Round 2\n"]
    assert (await there("tasks", "preview", "fake/press-button", "x.png"))[0] == 1  # no host is up

    ada = await person("ada")
    assert await there("users", "limit", "ada", "--tasks", "3") == (0, "", "")
    assert "0 of 3" in (await there("users", "quotas", token=ada))[1]
    assert "/v1/quotas/ada" in (await there("audit", "--action", "quotas"))[1]
    assert (await there("audit", token=ada))[0] == 1
    assert (await there("users", "own-password", token=ada, told="\nchosen by ada\n"))[0] == 0
    assert await accounts.users.knows_password("ada", "chosen by ada")
    assert (await there("users", "own-password", token=ada, told="wrong\nanother one\n"))[0] == 2
