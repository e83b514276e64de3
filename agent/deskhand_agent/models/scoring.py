"""Log-probabilities of replies under the model as it is now, differentiable.

The logits a reply is scored with are those it is sampled from: `reply_logits` is the one place where special
tokens are suppressed and the temperature applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.forward import collate, encode_pictures, last_states
from deskhand_agent.models.trees import Tree, Turn, apart, grown


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnScores:
    """Of a batch of turns; t counts reply tokens, padded on the right."""

    logprobs: Tensor
    """[b, t]; zero at padding."""
    mask: Tensor
    """bool [b, t]; False at padding."""
    entropy: Tensor | None
    """[b, t] of the distribution each token was drawn from, in nats; zero at padding; None unless asked."""
    prompt_hidden: Tensor
    """[b, width] at the last prompt token, before any token of the reply: where the turn critic reads."""
    token_hidden: Tensor
    """[b, t, width] at the token before each reply token: where a token critic reads; zero at padding."""
    pictures_encoded: int
    """That the vision tower was run on for this."""


def score_turns(
    bundle: ModelBundle,
    turns: Sequence[Turn],
    *,
    temperature: float = 1.0,
    with_entropy: bool = False,
    packed: bool = True,
    kept: FeatureCache | None = None,
) -> TurnScores:
    """Score whole replies in one pass.

    Padding never enters the arithmetic: only the hidden states of real positions are gathered.

    Args:
        packed: compute nothing for padding, and what several turns begin with once, where that pays; the
            numbers are the same.
        kept: features of pictures by a vision tower that is not trained; None: they are encoded here.

    Raises:
        InferenceError: a picture is unreadable or does not fit its placeholder run.
        ValueError: a turn has no reply.
    """
    gathered, encoded = _read(bundle, turns, packed=packed, kept=kept)
    counts = [len(turn.reply_ids) for turn in turns]
    padded = partial(_padded, counts=counts)
    drawn = torch.tensor([i for turn in turns for i in turn.reply_ids], device=gathered.device)
    logits = reply_logits(bundle, gathered, temperature).float()
    every = logits.log_softmax(-1)
    entropy = None
    if with_entropy:
        entropy = padded(-(every.exp() * every).sum(-1))
    states = padded(gathered)
    return TurnScores(
        logprobs=padded(every.gather(-1, drawn[:, None])[:, 0]),
        mask=padded(torch.ones(len(drawn), dtype=torch.bool, device=gathered.device)),
        entropy=entropy,
        prompt_hidden=states[:, 0],
        token_hidden=states,
        pictures_encoded=encoded,
    )


def read_turns(
    bundle: ModelBundle, turns: Sequence[Turn], *, packed: bool = True, kept: FeatureCache | None = None
) -> tuple[Tensor, int]:
    """What `score_turns` tells as `token_hidden` and `pictures_encoded`, by a model that writes nothing: its
    output matrix is not used."""
    gathered, encoded = _read(bundle, turns, packed=packed, kept=kept)
    return _padded(gathered, [len(turn.reply_ids) for turn in turns]), encoded


def _read(
    bundle: ModelBundle, turns: Sequence[Turn], *, packed: bool, kept: FeatureCache | None
) -> tuple[Tensor, int]:
    """States before every reply token, turn by turn [all of them, width], and pictures encoded."""
    if any(not turn.reply_ids for turn in turns):
        raise ValueError("a turn without reply ids cannot be scored")
    trees = grown(bundle, turns) if packed else apart(turns)
    batch = collate(bundle, [tree.sequence for tree in trees], packed=packed)
    if kept is None:
        features, encoded = encode_pictures(bundle, batch.images), len(batch.images)
    else:
        features, encoded = kept.of(batch.images)
    states = last_states(bundle, batch, [tree.read for tree in trees], features=features)
    return states[_places(trees).to(states.device)], encoded


def _places(trees: Sequence[Tree]) -> Tensor:
    """Where the states before the reply tokens of each turn, in order, stand among those of the trees."""
    places: dict[int, list[int]] = {}
    begin = 0
    for tree in trees:
        places |= {row: [begin + at for at in own] for row, own in tree.places.items()}
        begin += tree.read
    return torch.tensor([at for row in range(len(places)) for at in places[row]])


def _padded(values: Tensor, counts: Sequence[int]) -> Tensor:
    """[all tokens, ...] as [turns, longest, ...]."""
    rows = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    places = torch.cat([torch.arange(count) for count in counts])
    empty = values.new_zeros((len(counts), max(counts), *values.shape[1:]))
    return empty.index_put((rows, places), values)


def reply_logits(bundle: ModelBundle, hidden: Tensor, temperature: float | Tensor) -> Tensor:
    """Logits a reply token is drawn from and scored with.

    Args:
        hidden: [..., width] at the token before.
        temperature: 0 (greedy) is scored as 1; or one for each, [...], none of them 0.

    Returns:
        [..., vocabulary]; suppressed ids at the lowest finite number, so that they weigh exactly nothing.
    """
    logits: Tensor = bundle.model.lm_head(hidden)
    if isinstance(temperature, Tensor):
        logits = logits / temperature[..., None]
    elif temperature not in (0.0, 1.0):
        logits = logits / temperature
    # finite in float32 too, to which scores are brought
    lowest = max(torch.finfo(logits.dtype).min, torch.finfo(torch.float32).min)
    return logits.index_fill(-1, bundle.suppressed_ids.to(logits.device), lowest)
