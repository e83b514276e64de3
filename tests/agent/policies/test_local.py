from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image as PilImage

from deskhand_agent.formats import system_prompt
from deskhand_agent.grammar import GRAMMAR
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import BUNDLE_FILE, ModelBundle, build_tiny, load_bundle, save_bundle
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.models.prompting import decode_reply, tokenise_reply
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies import create_policy
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.types import Context, Fault, Step, StepTimings
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Click, EnvironmentSpec, Observation, Task, VerifierSpec, Wait


@pytest.fixture(scope="module")
def bundle() -> ModelBundle:
    torch.set_num_threads(1)
    return build_tiny(
        TinyConfig(
            vision_width=16,
            vision_depth=1,
            vision_heads=2,
            text_width=32,
            text_depth=1,
            text_heads=2,
            text_mlp=32,
            patch_px=8,
            max_side_px=64,
        )
    )


def context(width: int = 60, height: int = 50) -> Context:
    image = encoded(PilImage.new("RGB", (width, height), "white"))
    task = Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"))
    observation = Observation(screenshot=image, captured_at_s=0, settled_ms=0)
    return Context(task=task, instruction="Click it.", steps=(), observation=observation)


class Says:
    """An engine that always replies the same."""

    def __init__(self, bundle: ModelBundle, text: str, finish: FinishReason = FinishReason.STOP) -> None:
        self.finish = finish
        self.ids = tokenise_reply(bundle, text)
        self.requests: list[CompletionRequest] = []

    async def generate(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        return Completion(
            ids=self.ids,
            logprobs=(-0.5,) * len(self.ids),
            finish_reason=self.finish,
            policy_id="p",
            policy_update=2,
        )


async def test_a_reply_becomes_actions_on_the_screen(bundle: ModelBundle) -> None:
    engine = Says(bundle, "<think>there</think>\nclick(point='<point>12 24</point>')")
    decision = await LocalPolicy(bundle=bundle, engine=engine).act(context())
    assert decision.actions == (Click(x=12, y=24),)
    assert decision.thought == "there"
    assert decision.trainable
    assert decision.error is None
    assert decision.completion is not None
    assert decision.completion.ids == engine.ids
    assert decision.request is engine.requests[0]


async def test_near_misses_are_void_unless_they_are_to_be_mended(bundle: ModelBundle) -> None:
    engine = Says(bundle, "```\nclick(point='<point>12 24</point>')\n```")
    void = await LocalPolicy(bundle=bundle, engine=engine).act(context())
    assert (void.void, void.fault, void.repairs) == (True, Fault.SYNTAX, ())
    read = await LocalPolicy(bundle=bundle, engine=engine, mending=True).act(context())
    assert (read.actions, read.repairs) == ((Click(x=12, y=24),), ("fence",))
    assert read.trainable and read.completion == void.completion


async def test_a_void_reply_at_its_longest_is_cut_off(bundle: ModelBundle) -> None:
    cut = "<think>there</think>\nclick(point='<point>12"
    for finish, fault in ((FinishReason.LENGTH, Fault.CUT_OFF), (FinishReason.STOP, Fault.SYNTAX)):
        void = await LocalPolicy(bundle=bundle, engine=Says(bundle, cut, finish)).act(context())
        assert (void.actions, void.fault, void.trainable) == ((), fault, True)
    whole = Says(bundle, "wait(time=1)", FinishReason.LENGTH)
    read = await LocalPolicy(bundle=bundle, engine=whole).act(context())
    assert (read.actions, read.fault) == ((Wait(seconds=1.0),), None)


async def test_coordinates_pass_through_the_models_frame(bundle: ModelBundle) -> None:
    scaled = bundle.clone()
    scaled.coordinates = replace(bundle.coordinates, kind="normalised")
    engine = Says(bundle, "click(point='<point>500 500</point>')")
    decision = await LocalPolicy(bundle=scaled, engine=engine).act(context(width=60, height=50))
    assert decision.actions == (Click(x=30, y=25),)


async def test_a_released_model_is_told_the_grammar(bundle: ModelBundle, tmp_path: Path) -> None:
    save_bundle(bundle, tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).unlink()
    released = load_bundle(tmp_path / "hub")
    async with LocalEngine(released, policy_id="p") as engine:
        policy = LocalPolicy(bundle=released, engine=engine, sampling=Sampling(max_tokens=4))
        decision = await policy.act(context())
    assert decision.request is not None and decision.completion is not None
    # the one sign in it that so small a vocabulary lacks
    told = decode_reply(released, decision.request.prompt_ids).replace("<|unknown|>", "…")
    assert told.startswith(f"<|im_start|>system\n{system_prompt(released.coordinates)}<|im_end|>\n")
    assert GRAMMAR in told and "Click it.\n" in told


async def test_weights_of_ui_tars_are_asked_and_read_in_their_form(
    bundle: ModelBundle, tmp_path: Path
) -> None:
    save_bundle(bundle, tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).write_text('{"reply_format": "ui_tars"}')
    released = load_bundle(tmp_path / "hub")
    reply = "Thought: There.\nAction: click(point='<point>500 500</point>')"
    policy = LocalPolicy(bundle=released, engine=Says(released, reply), memory=WindowMemory(n_screenshots=2))
    now = context(width=60, height=50)
    first = await policy.act(now)
    assert (first.actions, first.thought, first.trainable) == ((Click(x=30, y=25),), "There.", True)
    assert first.request is not None
    told = decode_reply(released, first.request.prompt_ids)
    assert "## Action Space" in told and "## User Instruction\nClick it.\n" in told and GRAMMAR not in told
    turn = Step(
        index=0,
        observation=now.observation,
        decision=first,
        reward=0.0,
        timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=1.0,
    )
    shown = decode_reply(released, policy.request(replace(now, steps=(turn,))).prompt_ids)
    assert f"<|im_start|>assistant\n{reply}<|im_end|>" in shown


async def test_a_near_miss_in_the_form_of_ui_tars_is_a_void_turn(bundle: ModelBundle, tmp_path: Path) -> None:
    """As in our own grammar, where a model learns by its replies."""
    save_bundle(bundle, tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).write_text('{"reply_format": "ui_tars"}')
    released = load_bundle(tmp_path / "hub")
    reply = "Action: click(point='<point>500 500</point>'"
    decision = await LocalPolicy(bundle=released, engine=Says(released, reply)).act(context())
    assert released.form.decision(reply, context().observation, {}).repairs
    assert (decision.actions, decision.trainable, decision.fault) == ((), True, Fault.SYNTAX)


async def test_a_model_built_here_is_shown_what_it_was_trained_on(bundle: ModelBundle) -> None:
    asked = LocalPolicy(bundle=bundle, engine=Says(bundle, "wait()")).request(context())
    shown = decode_reply(bundle, [i for i in asked.prompt_ids if i != bundle.model.config.image_token_id])
    assert shown == (
        "<|im_start|>user\n<|vision_start|><|vision_end|>Click it.\n<|im_end|>\n<|im_start|>assistant\n"
    )


async def test_nonsense_is_a_void_turn_that_can_be_trained_on(bundle: ModelBundle) -> None:
    decision = await LocalPolicy(bundle=bundle, engine=Says(bundle, "click(")).act(context())
    assert decision.actions == ()
    assert decision.trainable
    assert decision.text == "click("
    assert decision.error is not None


async def test_the_request_is_what_the_engine_takes(bundle: ModelBundle) -> None:
    async with LocalEngine(bundle, policy_id="p") as engine:
        policy = create_policy(
            "local", bundle=bundle, engine=engine, sampling=Sampling(max_tokens=4), policy_id="p"
        )
        decision = await policy.act(context())
    assert policy.id == "p"
    assert decision.completion is not None
    assert 1 <= len(decision.completion.ids) <= 4
    assert decision.request is not None
    assert decision.request.processor_hash == bundle.processor_hash
