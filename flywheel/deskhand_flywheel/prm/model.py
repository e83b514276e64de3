"""The model: a small head on hidden states of the policy's own kind of model.

Two states are read side by side, which is what a judgement of a step needs: the last prompt token (what the
screen asks for) and the mean over the reply (what was done about it). Beside them stands how likely the model
itself finds the reply, over all beside the likeliest and where it doubts most: what a language model holds
likely tells much of what is right (Kadavath et al. 2022), and a few labels are enough to learn how much.
After GUI-Shepherd's process reward (arXiv:2509.23738), with a regressed score in place of a written verdict.
From the first state alone it also says how good the state is: the potential of the reward's second form.

A saved model is a folder: the bundle's own files, `head.safetensors`, and `prm.json`. Kept in the store, the
bundle's files cost nothing where the policy is kept too.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from blake3 import blake3
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.model_files import writing
from deskhand_agent.models.bundle import ModelBundle, load_bundle, save_bundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.forward import TokenSequence, collate, last_states
from deskhand_agent.models.scoring import reply_logits
from deskhand_agent.models.trees import Turn
from deskhand_flywheel.errors import RewardModelError

_FORMAT = 4
_HEAD_FILE, _ABOUT_FILE = "head.safetensors", "prm.json"

_CONFIDENCES = 2
"""Numbers of how likely the reply is: by how much its tokens' log-probabilities fall short of the likeliest
tokens' in all, and the least of them."""
_LEAST_LOGPROB = -20.0
"""Of a token, by either: others' replies may hold some that the model never draws."""


class ScoreHead(nn.Module):
    """Hidden states to logits; their sigmoid is the score. Begins at a logit of 0 for every step.

    `scale` and `shift` calibrate the logits (Platt scaling) and are kept with the weights.
    """

    scale: Tensor
    shift: Tensor
    knows_values: Tensor
    """bool: `value` was trained."""

    def __init__(self, hidden_width: int, *, inner_width: int = 128, seed: int = 0) -> None:
        """
        Args:
            hidden_width: D of the states it reads: `hidden_width(bundle)`.
            seed: of its first weights.
        """
        super().__init__()
        self.hidden_width, self.inner_width = hidden_width, inner_width
        self.states_width = states_width = hidden_width - _CONFIDENCES
        """Of these, the states; what is left says how likely replies are."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            last = nn.Linear(inner_width, 1)
            self.layers = nn.Sequential(
                nn.LayerNorm(states_width), nn.Linear(states_width, inner_width), nn.GELU(), last
            )
            self.confidence = nn.Linear(_CONFIDENCES, 1, bias=False)
            last_value, state_width = nn.Linear(inner_width, 1), states_width // 2
            self.value_layers = nn.Sequential(
                nn.LayerNorm(state_width), nn.Linear(state_width, inner_width), nn.GELU(), last_value
            )
        for each in (last, self.confidence, last_value):
            for parameter in each.parameters():
                nn.init.zeros_(parameter)
        self.register_buffer("scale", torch.tensor(1.0))
        self.register_buffer("shift", torch.tensor(0.0))
        self.register_buffer("knows_values", torch.tensor(False))

    def forward(self, hidden: Tensor) -> Tensor:
        """Logits of how much steps help.

        Args:
            hidden: [B, D] of `step_hidden`.

        Returns:
            [B].
        """
        states, confidences = hidden.split([self.states_width, _CONFIDENCES], -1)
        logits = self.layers(states) + self.confidence(confidences)
        return self.scale * logits[..., 0] + self.shift

    def value(self, hidden: Tensor) -> Tensor:
        """Logits of the chance to succeed from states.

        Args:
            hidden: [B, D] of `step_hidden`, or [B, width] of `state_hidden`, with which it begins: it reads
                no more.

        Returns:
            [B].
        """
        return self.value_layers(hidden[..., : self.states_width // 2])[..., 0]


def hidden_width(bundle: ModelBundle) -> int:
    """D of `step_hidden`."""
    return 2 * bundle.text_width + _CONFIDENCES


def step_hidden(bundle: ModelBundle, turns: Sequence[Turn]) -> Tensor:
    """What the head reads of each turn; differentiable: for a frozen bundle, run it under `torch.no_grad()`.

    Returns:
        [B, D]: the state at the last prompt token, the mean state over the reply's tokens, their
        log-probabilities' sum less that of the likeliest tokens, and the least of them, in nats.

    Raises:
        InferenceError: a picture is unreadable, or does not fit its placeholder run.
    """
    return torch.stack(
        [
            read_step(bundle, turn, states)
            for turn, states in zip(turns, states_of(bundle, turns), strict=True)
        ]
    )


def read_step(bundle: ModelBundle, turn: Turn, states: Tensor) -> Tensor:
    """What the head reads of one turn: [D] of the states of `states_of`, [n, width]."""
    count = len(turn.reply_ids)
    replied = torch.tensor(turn.reply_ids, device=states.device)
    # a token is foretold by the state before it
    logprobs = reply_logits(bundle, states[:count], 1.0).float().log_softmax(-1)
    said = logprobs.gather(-1, replied[:, None])[:, 0]
    said, short = (each.clamp(min=_LEAST_LOGPROB) for each in (said, said - logprobs.amax(-1)))
    likely = torch.stack([short.sum(), said.min()]).to(states.dtype)
    return torch.cat([states[0], states[1 : 1 + count].mean(0), likely])


def states_of(
    bundle: ModelBundle,
    turns: Sequence[Turn],
    after: Sequence[tuple[int, ...]] | None = None,
    *,
    kept: FeatureCache | None = None,
) -> Sequence[Tensor]:
    """The hidden states of each turn from its last prompt token on, [n, width] each; differentiable.

    Args:
        after: ids that follow each reply; None: none.
        kept: features of pictures by a vision tower that is not trained; None: they are encoded here.

    Raises:
        InferenceError: a picture is unreadable, or does not fit its placeholder run.
    """
    sequences = [
        TokenSequence(ids=turn.prompt_ids + turn.reply_ids + more, images=turn.images)
        for turn, more in zip(turns, after or [()] * len(turns), strict=True)
    ]
    batch = collate(bundle, sequences, packed=True)
    features = None if kept is None else kept.of(batch.images)[0]
    wanted = [len(each.ids) - len(turn.prompt_ids) + 1 for each, turn in zip(sequences, turns, strict=True)]
    return last_states(bundle, batch, wanted, features=features).split(wanted)


def state_hidden(bundle: ModelBundle, turns: Sequence[Turn]) -> Tensor:
    """What `ScoreHead.value` reads: [B, width], the state at the last prompt token, before any reply.

    Raises:
        InferenceError: a picture is unreadable, or does not fit its placeholder run.
    """
    sequences = [TokenSequence(ids=turn.prompt_ids, images=turn.images) for turn in turns]
    batch = collate(bundle, sequences, packed=True)
    return last_states(bundle, batch, [1] * len(turns))


def weights_digest(bundle: ModelBundle, head: ScoreHead) -> str:
    """Names the weights of both: 16 hex characters of BLAKE3 over names, shapes and bytes."""
    hasher = blake3()
    for part, module in (("bundle", bundle.model), ("head", head)):
        for name, tensor in sorted(module.state_dict().items()):
            stored = tensor.detach().cpu().contiguous()
            hasher.update(f"{part}.{name}:{stored.dtype}:{tuple(stored.shape)}".encode())
            hasher.update(stored.reshape(-1).view(torch.uint8).numpy().tobytes())
    return hasher.hexdigest()[:16]


def save_reward_model(bundle: ModelBundle, head: ScoreHead, folder: Path) -> str:
    """Write the folder, replacing an older one once the new one is whole; returns the weights' digest."""
    digest = weights_digest(bundle, head)
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.part")
    about = {
        "format": _FORMAT,
        "hidden_width": head.hidden_width,
        "inner_width": head.inner_width,
        "digest": digest,
    }
    try:
        save_bundle(bundle, part)
        with writing(part / _HEAD_FILE):
            save_file(
                {name: tensor.contiguous() for name, tensor in head.state_dict().items()}, part / _HEAD_FILE
            )
        (part / _ABOUT_FILE).write_text(json.dumps(about, indent=2) + "\n")
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return digest


def load_reward_model(folder: Path, *, device: torch.device | str = "cpu") -> tuple[ModelBundle, ScoreHead]:
    """Load what `save_reward_model` wrote.

    Raises:
        RewardModelError: the folder is missing, of another kind, or its weights are not those it names.
    """
    about = _about(folder)
    try:
        bundle = load_bundle(folder)
        head = ScoreHead(int(about["hidden_width"]), inner_width=int(about["inner_width"]))
        head.load_state_dict(load_file(folder / _HEAD_FILE))
    except (ModelFilesError, OSError, KeyError, ValueError, RuntimeError, SafetensorError) as error:
        raise RewardModelError(
            f"the process reward model in {folder} is damaged ({error}): materialise it again from the store"
        ) from error
    if weights_digest(bundle, head) != about.get("digest"):
        raise RewardModelError(
            f"the weights of the process reward model in {folder} are not those it was saved with: "
            "materialise it again from the store"
        )
    return bundle.to(torch.device(device)), head.to(device).eval()


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / _ABOUT_FILE).read_text())
    except FileNotFoundError as error:
        raise RewardModelError(
            f"{folder} holds no process reward model (no {_ABOUT_FILE}): name one that "
            "`deskhand prm train` kept"
        ) from error
    except (OSError, ValueError) as error:
        raise RewardModelError(f"{folder / _ABOUT_FILE} is not readable: {error}") from error
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise RewardModelError(
            f"{folder / _ABOUT_FILE} has a form this Deskhand does not read: train the model again"
        )
    return about
