"""Episodes paid by a judge: a real HTTP server that speaks OpenAI's protocol and does everything wrong."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "flywheel"))

from judge_replies import busy, chat, says
from starlette.responses import Response

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.time_limits import TimeLimit, waiting_ones_turn
from deskhand_agent.types import Trajectory
from deskhand_agent.worker import WorkerSettings
from deskhand_flywheel.judges import JudgeSettings, OutcomeJudge
from deskhand_flywheel.review_types import DisagreementKind
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import JudgeTrouble, OutcomeScore, TrajectoryFilter
from deskhand_sandbox.types import Split
from deskhand_sandbox.verifiers.none import create as no_verifier
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig, parse_config
from deskhand_trainer.errors import ConfigError, RolloutsStalled
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.outcome_config import OutcomeConfig
from deskhand_trainer.outcome_reward import JudgedOutcomes, judging
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.rollouts import Collected, collect, collect_or_reuse, jobs_of, seed_ranges

SPOT = "fake/spot"
LABELS = {"run": "r", "iteration": "0"}
Make = Callable[..., JudgedOutcomes]


@pytest.fixture
async def make(store: Store, endpoint: Any) -> AsyncIterator[Make]:
    """Judges whose client gives up soon."""
    judges: list[OutcomeJudge] = []
    endpoint.reply = lambda: says(0.75)

    def judged(timeout_s: float = 10.0, retries: int = 0, asks: int = 2, **config: Any) -> JudgedOutcomes:
        asking = JudgeSettings(
            model="m", base_url=endpoint.url, timeout_s=timeout_s, retries=retries, asks=asks,
            usd_per_million_prompt_tokens=10.0,
        )  # fmt: skip
        judges.append(OutcomeJudge(asking))
        given: dict[str, Any] = {"by": "judge", "judge": endpoint.url, "model": "m", **config}
        return JudgedOutcomes(store, judges[-1], OutcomeConfig(**given))

    yield judged
    for each in judges:
        await each.close()


@pytest.fixture
def unverified(monkeypatch: pytest.MonkeyPatch, spot: Any) -> Any:
    """Spots to click, and nothing that tells whether they were."""
    monkeypatch.setattr("deskhand_agent.worker.create_verifier", lambda _: no_verifier())
    return spot


async def played(
    source: Any, oracle: Any, store: Store, outcomes: JudgedOutcomes, *, count: int = 4
) -> Collected:
    jobs = jobs_of(seed_ranges((SPOT,), Split.TRAIN, episodes=count, offset=0), labels=LABELS)
    return await collect_or_reuse(
        jobs,
        store=store,
        labels=LABELS,
        policy=oracle,
        source=source,
        settings=WorkerSettings(concurrency=2, void_limit=1),
        owner="t",
        pay=outcomes.reward,
    )


def outcomes_of(collected: Collected) -> list[tuple[float, bool]]:
    ends = [t.end.outcome for t in collected.trajectories if t.end is not None]
    return [(outcome.score, outcome.success) for outcome in ends if outcome is not None]


# ---- what an episode earns --------------------------------------------------------------------------


async def test_a_judge_pays_and_its_word_is_kept_beside_the_verdict(
    store: Store, spot: Any, spot_oracle: Any, make: Make
) -> None:
    outcomes = make(success_from=0.7)
    collected = await played(spot, spot_oracle, store, outcomes)
    assert outcomes_of(collected) == [(0.75, True)] * 4 and collected.dropped == {}
    for each in await store.trajectory_ids():
        recorded = await store.summary(each)
        assert recorded.outcome is not None and recorded.outcome.score == 1.0
        (said,) = await store.outcome_scores(each)
        assert (said.score, said.scorer) == (0.75, outcomes.scorer) and said.rationale
    figures = outcomes.figures()
    assert (figures["judged"], figures["judge_void"]) == (4, 0)
    assert figures["judge_prompt_tokens"] == 400.0 and figures["judge_usd"] == pytest.approx(0.004)
    assert outcomes.figures()["judged"] == 0


@pytest.mark.parametrize("by", ["judge", "verifier_then_judge"])
async def test_the_judge_speaks_where_there_is_no_verifier(
    store: Store, unverified: Any, spot_oracle: Any, make: Make, by: str
) -> None:
    collected = await played(unverified, spot_oracle, store, make(by=by))
    assert outcomes_of(collected) == [(0.75, False)] * 4
    summaries = [await store.summary(each) for each in await store.trajectory_ids()]
    assert all(one.outcome is None and one.failure is None and one.ended_at_s for one in summaries)


async def test_a_verifier_is_heard_first(
    store: Store, spot: Any, spot_oracle: Any, make: Make, endpoint: Any
) -> None:
    collected = await played(spot, spot_oracle, store, make(by="verifier_then_judge"))
    assert outcomes_of(collected) == [(1.0, True)] * 4 and endpoint.sent == []


async def test_a_judge_that_contradicts_the_verifier_calls_for_a_person(
    store: Store, spot: Any, spot_oracle: Any, make: Make, endpoint: Any
) -> None:
    endpoint.queue = [says(0.0)]
    await played(spot, spot_oracle, store, make(at_once=1), count=2)
    (waiting,) = (await store.review_queue()).items
    assert waiting.disagreement.kind is DisagreementKind.VERIFIER_JUDGE
    assert {side.score for side in waiting.disagreement.said} == {1.0, 0.0}


async def test_what_was_said_before_the_run_died_is_not_asked_again(
    store: Store, spot: Any, spot_oracle: Any, make: Make, endpoint: Any
) -> None:
    first = await played(spot, spot_oracle, store, make())
    again = await played(spot, spot_oracle, store, make())
    assert (again.reused, len(endpoint.sent)) == (4, 4)
    assert outcomes_of(again) == outcomes_of(first)


# ---- a judge that does not ----------------------------------------------------------------------------


def hanging() -> tuple[asyncio.Event, Callable[[], Any]]:
    over = asyncio.Event()

    async def hang() -> Response:
        await over.wait()
        return says(1.0)

    return over, hang


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (lambda: busy(429), JudgeTrouble.RATE_LIMITED),
        (lambda: busy(500), JudgeTrouble.SERVER_ERROR),
        (lambda: busy(400), JudgeTrouble.REFUSED),
        (lambda: chat("I cannot tell."), JudgeTrouble.NONSENSE),
        (lambda: says(7), JudgeTrouble.NONSENSE),
        (None, JudgeTrouble.TIMEOUT),
    ],
)
async def test_no_word_is_no_reward_and_is_counted(
    store: Store,
    spot: Any,
    spot_oracle: Any,
    make: Make,
    endpoint: Any,
    answer: Callable[[], Response] | None,
    trouble: JudgeTrouble,
) -> None:
    over, hang = hanging()
    # the first episode's two asks; the others are answered
    endpoint.queue = [hang] if answer is None else [answer(), answer()][: 2 if trouble == "nonsense" else 1]
    outcomes = make(at_once=1, timeout_s=3.0 if answer is None else 60.0)
    collected = await played(spot, spot_oracle, store, outcomes)
    over.set()
    assert outcomes_of(collected) == [(0.75, False)] * 3
    assert collected.dropped == {f"judge_{trouble}": 1}
    figures = outcomes.figures()
    assert figures["judge_void"] == 1
    assert figures.get(f"judge_{trouble}", 0) == (0 if trouble == "nonsense" else 1)
    (failure,) = await store.judge_failures(outcomes.scorer)
    assert failure.trouble is trouble and await store.outcome_scores(failure.trajectory_id) == ()


async def test_passing_trouble_voids_nothing(
    store: Store, spot: Any, spot_oracle: Any, make: Make, endpoint: Any
) -> None:
    endpoint.queue = [busy(429), busy(500), chat("Hm."), says(1.0)]
    collected = await played(spot, spot_oracle, store, make(retries=3, at_once=1), count=1)
    assert outcomes_of(collected) == [(1.0, True)]


async def test_the_deadline_runs_from_being_asked(
    store: Store, spot: Any, spot_oracle: Any, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that are to be judged one at a time, the second's has not begun while it waits."""
    outcomes, both, ended = make(at_once=1), asyncio.Event(), 0
    running: set[TimeLimit] = set()
    most = 0

    class Noted(TimeLimit):
        @asynccontextmanager
        async def enforced(self) -> AsyncGenerator[None]:
            nonlocal most
            running.add(self)
            most = max(most, len(running))
            async with super().enforced():
                yield
            running.discard(self)

    async def unknown(trajectory_id: str) -> None:
        nonlocal ended
        ended += 1
        if ended == 2:
            both.set()

    score = outcomes._judge.score

    async def waiting(trajectory: Trajectory) -> OutcomeScore:
        await both.wait()
        return await score(trajectory)

    monkeypatch.setattr("deskhand_trainer.outcome_reward.TimeLimit", Noted)
    monkeypatch.setattr(outcomes, "_known", unknown)
    monkeypatch.setattr(outcomes._judge, "score", waiting)
    collected = await played(spot, spot_oracle, store, outcomes, count=2)
    assert outcomes_of(collected) == [(0.75, False)] * 2 and most == 1


async def test_a_judge_that_hangs_voids_each_it_is_asked_about(
    store: Store, spot: Any, spot_oracle: Any, make: Make, endpoint: Any
) -> None:
    over, hang = hanging()
    endpoint.queue = [hang] * 4
    with pytest.raises(RolloutsStalled, match=r"only 0 of 4 .*'judge_timeout': 4"):
        await played(spot, spot_oracle, store, make(at_once=1, within_s=0.3))
    over.set()
    assert await store.count_trajectories(TrajectoryFilter(labels=LABELS)) == 4


async def test_a_judge_that_waits_for_its_endpoints_rate_limit_is_not_late(
    store: Store, spot: Any, spot_oracle: Any, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = make(within_s=3.0)
    score = outcomes._judge.score

    async def held(trajectory: Trajectory) -> OutcomeScore:
        with waiting_ones_turn():
            await asyncio.sleep(3.1)
            return await score(trajectory)

    monkeypatch.setattr(outcomes._judge, "score", held)
    collected = await played(spot, spot_oracle, store, outcomes, count=1)
    assert outcomes_of(collected) == [(0.75, False)] and collected.dropped == {}


async def test_a_void_episode_is_played_again_after_the_run_died(
    store: Store, unverified: Any, spot_oracle: Any, make: Make, endpoint: Any
) -> None:
    endpoint.queue = [busy(400)]
    first = await played(unverified, spot_oracle, store, make(at_once=1))
    assert len(first.trajectories) == 3
    again = await played(unverified, spot_oracle, store, make())
    # the judge is there again: what it had no word on is judged now, and nothing is played twice
    assert (len(again.trajectories), again.reused) == (4, 4)
    assert await store.judge_failures(make().scorer) == ()


async def test_a_store_that_fails_ends_the_rollouts(
    store: Store, spot: Any, spot_oracle: Any, make: Make
) -> None:
    async def lost(trajectory: object) -> Any:
        raise OSError("no judge at all")

    jobs = jobs_of(seed_ranges((SPOT,), Split.TRAIN, episodes=2, offset=0), labels=LABELS)
    with pytest.raises(OSError, match="no judge"):
        await collect(
            jobs, policy=spot_oracle, source=spot, sink=store, settings=WorkerSettings(), owner="t", pay=lost
        )


# ---- a whole loop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rollouts", ["batch", "stream"])
async def test_a_loop_learns_from_what_a_judge_says(
    store: Store, unverified: Any, tiny: ModelBundle, tmp_path: Path, make: Make, endpoint: Any, rollouts: Any
) -> None:
    replies = iter(range(10_000))
    endpoint.reply = lambda: chat("no") if (n := next(replies)) % 11 == 10 else says(float(n % 2))
    outcome = OutcomeConfig(by="judge", judge=endpoint.url, model="m")
    config = PpoConfig(
        tasks=(SPOT,),
        iterations=2,
        episodes_per_iteration=8,
        minibatch=8,
        validation_episodes=4,
        concurrency=4,
        max_tokens=8,
        rollouts=rollouts,
        importance_cap=2.0 if rollouts == "stream" else None,
        outcome=outcome,
        value_pretraining=ValuePretrainingConfig(episodes=8, max_epochs=1),
    )
    setting = PpoSetting(
        run_id="r",
        config=config,
        bundle=tiny,
        policy_id="tiny",
        store=store,
        source=unverified,
        reporter=Reporter(store, subject="run:r", folder=tmp_path / "board"),
        folder=tmp_path,
        progress=lambda phase, done, total: None,
        labels={},
        outcomes=make(asks=1),
    )
    await PpoLoop(setting).train()
    events = [event for event in await store.events_after(0) if event.name == "ppo/iteration"]
    assert len(events) == 2
    for event in events:
        assert 0.0 < float(str(event.data["reward_outcome"])) < 1.0
        assert float(str(event.data["judge_prompt_tokens"])) > 0
    void = sum(int(str(event.data.get("dropped_judge_nonsense", 0))) for event in events)
    assert void == sum(int(str(event.data["dropped"])) for event in events)


# ---- configs -----------------------------------------------------------------------------------------


async def test_configs_that_make_no_sense_are_refused(store: Store) -> None:
    for given in (
        {"by": "judge"},
        {"by": "judge", "judge": "http://127.0.0.1:1/v1"},
        {"by": "judge", "judge": "here", "model": "m"},
        {"by": "judge", "judge": "http://host:80x/v1", "model": "m"},
        {"by": "judge", "judge": "http:///v1", "model": "m"},
        {"judge": "http://127.0.0.1:1/v1", "model": "m"},
        {"by": "anybody"},
        {"by": "judge", "judge": "http://127.0.0.1:1/v1", "model": "m", "success_from": 2},
    ):
        with pytest.raises(ConfigError, match="outcome"):
            parse_config(PpoConfig, {"outcome": given})
    judge: dict[str, Any] = {"by": "judge", "judge": "http://127.0.0.1:1/v1", "model": "m"}
    for more in ({"rollouts": "self_play"}, {"rollouts": "recorded"}, {"algorithm": "cloning"}):
        with pytest.raises(ConfigError, match="outcome"):
            parse_config(PpoConfig, {"outcome": judge, **more})
    async with judging(store, OutcomeConfig()) as nobody:
        assert nobody is None
    own, usual = OutcomeConfig(**judge, rubric="Be kind."), OutcomeConfig(**judge)
    async with judging(store, own) as one, judging(store, usual) as other:
        assert one is not None and other is not None and one.scorer != other.scorer


async def test_a_broken_episode_is_nobody_s_to_judge(
    store: Store, spot: Any, spot_oracle: Any, make: Make, endpoint: Any
) -> None:
    outcomes = make()
    (whole,) = (await played(spot, spot_oracle, store, outcomes, count=1)).trajectories
    assert whole.end is not None
    asked = len(endpoint.sent)
    for other in (replace(whole, end=None), replace(whole, steps=())):
        assert await outcomes.reward(other) is other
    assert len(endpoint.sent) == asked
