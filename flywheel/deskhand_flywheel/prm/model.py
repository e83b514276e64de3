"""The model: a small head on hidden states of the policy's own kind of model.

Two states are read side by side, which is what a judgement of a step needs: the last prompt token (what the
screen asks for) and the mean over the reply (what was done about it). After GUI-Shepherd's process reward,
with a regressed score in place of a written verdict.

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
from deskhand_agent.models.bundle import ModelBundle, load_bundle, save_bundle
from deskhand_agent.models.forward import TokenSequence, collate, forward
from deskhand_agent.models.scoring import Turn
from deskhand_flywheel.errors import RewardModelError

_FORMAT = 1
_HEAD_FILE, _ABOUT_FILE = "head.safetensors", "prm.json"


class ScoreHead(nn.Module):
    """Hidden states to logits; their sigmoid is the score. Begins at a logit of 0 for every step."""

    def __init__(self, hidden_width: int, *, inner_width: int = 128, seed: int = 0) -> None:
        """
        Args:
            hidden_width: D of the states it reads: `hidden_width(bundle)`.
            seed: of its first weights.
        """
        super().__init__()
        self.hidden_width, self.inner_width = hidden_width, inner_width
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            last = nn.Linear(inner_width, 1)
            self.layers = nn.Sequential(
                nn.LayerNorm(hidden_width), nn.Linear(hidden_width, inner_width), nn.GELU(), last
            )
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """Logits.

        Args:
            hidden: [B, D].

        Returns:
            [B].
        """
        return self.layers(hidden)[..., 0]


def hidden_width(bundle: ModelBundle) -> int:
    """D of `step_hidden`."""
    return 2 * bundle.text_width


def step_hidden(bundle: ModelBundle, turns: Sequence[Turn]) -> Tensor:
    """What the head reads of each turn; differentiable: for a frozen bundle, run it under `torch.no_grad()`.

    Returns:
        [B, D]: the state at the last prompt token, then the mean state over the reply's tokens.

    Raises:
        InferenceError: a picture is unreadable, or does not fit its placeholder run.
    """
    sequences = [TokenSequence(ids=turn.prompt_ids + turn.reply_ids, images=turn.images) for turn in turns]
    batch = collate(bundle, sequences, packed=True)
    hidden, _ = forward(bundle, batch)
    rows: list[Tensor] = []
    for turn, states in zip(turns, hidden[0].split(batch.lengths.tolist()), strict=True):
        begin = len(turn.prompt_ids)
        rows.append(torch.cat([states[begin - 1], states[begin:].mean(0)]))
    return torch.stack(rows)


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


def load_reward_model(folder: Path, *, device: str = "cpu") -> tuple[ModelBundle, ScoreHead]:
    """Load what `save_reward_model` wrote.

    Raises:
        RewardModelError: the folder is missing, of another kind, or its weights are not those it names.
    """
    about = _about(folder)
    try:
        bundle = load_bundle(folder, device=device)
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
    return bundle, head.to(device).eval()


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / _ABOUT_FILE).read_text())
    except FileNotFoundError as error:
        raise RewardModelError(
            f"{folder} holds no process reward model (no {_ABOUT_FILE}): name one that a score run kept"
        ) from error
    except (OSError, ValueError) as error:
        raise RewardModelError(f"{folder / _ABOUT_FILE} is not readable: {error}") from error
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise RewardModelError(f"{folder / _ABOUT_FILE} has a form this Deskhand does not read")
    return about
