"""Branches of a recorded walk: by snapshot, by replay, where it looks different, where the way ends early."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deskhand_agent.branching import BRANCH_OF, SHARED_TURNS
from deskhand_agent.episode import run_episode
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import build_tiny
from deskhand_agent.models.prompting import decode_reply, tokenise_reply
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Context, Decision, Trajectory
from deskhand_flywheel.branching_off import EXACT, BranchOrder, branch_off
from deskhand_flywheel.errors import NotReplayable
from deskhand_flywheel.prm.examples import read_steps
from deskhand_flywheel.retracing import Retracing
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.base import Capability
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Finish, Observation, Press, Split, Start, Task

TASK = make_task("worlds/chain", 3)


class Walks:
    """As it is told, one key a turn; then it is done."""

    id = "walks"

    def __init__(self, ways: str) -> None:
        self._ways = ways

    async def act(self, context: Context) -> Decision:
        at = len(context.steps)
        if at >= len(self._ways):
            return Decision(actions=(Finish(),), text="finished()")
        key = {"r": "ArrowRight", "l": "ArrowLeft"}[self._ways[at]]
        return Decision(actions=(Press(keys=(key,)),), text=key)


class Counting(WorldSandbox):
    """Counts how often it was set up and restored."""

    resets = restores = 0

    async def reset(self, task: Task) -> Start:
        self.resets += 1
        return await super().reset(task)

    async def restore(self, snapshot_id: str) -> Observation:
        self.restores += 1
        return await super().restore(snapshot_id)


class Forgetful(Counting):
    capabilities = frozenset({Capability.EVALUATE})


async def walked(ways: str) -> Trajectory:
    async with WorldSandbox() as sandbox:
        return await run_episode(
            TASK,
            sandbox=sandbox,
            policy=Walks(ways),
            verifier=create_verifier(TASK.verifier),
            sink=MemorySink(),
            split=Split.TRAIN,
        )


async def branches(
    sandbox: WorldSandbox, order: BranchOrder, sink: MemorySink, ways: str
) -> list[Trajectory]:
    async with sandbox:
        return await branch_off(
            order, sandbox=sandbox, policy=Walks(ways), sink=sink, labels={"who": "me"}, deadlines=Deadlines()
        )


@pytest.mark.parametrize(("kind", "resets", "restores"), [(Counting, 1, 2), (Forgetful, 3, 0)])
async def test_branches_share_the_turns_before_theirs(
    kind: type[Counting], resets: int, restores: int
) -> None:
    recorded, sandbox, sink = await walked("llrl"), kind(), MemorySink()
    order = BranchOrder(of=recorded, step=2, task=TASK, episodes=3)
    done = await branches(sandbox, order, sink, "xxll")
    assert (sandbox.resets, sandbox.restores) == (resets, restores)
    kept = sink.trajectories
    assert [one.id for one in kept] == [one.id for one in done]
    assert len({one.id for one in kept}) == 3
    for one in kept:
        assert one.start.labels == {
            "who": "me",
            BRANCH_OF: recorded.id,
            SHARED_TURNS: "2",
            EXACT: "yes",
        }
        keys = ["ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft", "finished()"]
        assert [step.decision.text for step in one.steps] == keys
        assert one.end is not None and one.end.outcome is not None


@pytest.mark.parametrize("kind", [Counting, Forgetful])
async def test_the_notes_a_branch_was_told_are_recorded_and_show_its_prompts_again(
    kind: type[Counting],
) -> None:
    recorded, sink, bundle = await walked("llrl"), MemorySink(), build_tiny(TinyConfig())
    recorded = replace(recorded, start=replace(recorded.start, notes="the left door is locked"))
    bundle.memory = WindowMemory(screens="text")

    class Finishes:
        async def generate(self, request: CompletionRequest) -> Completion:
            ids = tokenise_reply(bundle, "finished()")
            return Completion(
                ids=ids, logprobs=(-0.5,) * len(ids), finish_reason=FinishReason.STOP,
                policy_id="p", policy_update=0,
            )  # fmt: skip

    async with kind() as sandbox:
        done = await branch_off(
            BranchOrder(of=recorded, step=2, task=TASK, episodes=2),
            sandbox=sandbox,
            policy=LocalPolicy(bundle=bundle, engine=Finishes()),
            sink=sink,
            labels={},
            deadlines=Deadlines(),
        )
    assert [one.start.notes for one in done] == [recorded.start.notes] * 2
    for kept in sink.trajectories:
        assert kept.start.notes == recorded.start.notes
        decided = kept.steps[-1].decision
        assert decided.request is not None
        shown = decided.request.prompt_ids
        assert recorded.start.notes in decode_reply(bundle, shown)
        elsewhere = replace(decided, request=replace(decided.request, processor_hash="another"))
        again = replace(kept, steps=(*kept.steps[:-1], replace(kept.steps[-1], decision=elsewhere)))
        assert read_steps(again, bundle)[-1].prompt_ids == shown


async def test_a_branch_from_a_state_that_looks_different_says_so() -> None:
    recorded, sink = await walked("llrl"), MemorySink()
    other = replace(recorded.steps[0].observation.screenshot, digest="0" * 64)
    seen = replace(recorded.steps[0].observation, screenshot=other)
    changed = replace(recorded, steps=(replace(recorded.steps[0], observation=seen), *recorded.steps[1:]))
    [done] = await branches(WorldSandbox(), BranchOrder(of=changed, step=1, task=TASK), sink, "xr")
    [kept] = sink.trajectories
    assert kept.id == done.id and kept.start.labels[EXACT] == "no"


async def test_a_way_that_ends_early_is_not_recorded() -> None:
    recorded, sink = await walked("llrl"), MemorySink()
    quits = replace(recorded.steps[0].decision, actions=(Finish(),), text="finished()")
    short = replace(recorded, steps=(replace(recorded.steps[0], decision=quits), *recorded.steps[1:]))
    with pytest.raises(NotReplayable, match="ended after 1 of 2 steps"):
        await branches(WorldSandbox(), BranchOrder(of=short, step=2, task=TASK), sink, "")
    assert sink.trajectories == ()
    with pytest.raises(NotReplayable, match="no step 9"):
        BranchOrder(of=recorded, step=9, task=TASK)


async def test_a_policy_is_as_patient_after_the_recorded_turns_as_by_itself() -> None:
    recorded, patient = await walked("r"), Walks("r")
    assert Retracing(recorded, 1, patient).longest_s == 0.0
    patient.longest_s = 900.0  # type: ignore[attr-defined]
    assert Retracing(recorded, 1, patient).longest_s == 900.0
