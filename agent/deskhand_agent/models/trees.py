"""Turns that begin alike as one sequence, in which every beginning is computed once.

An episode's prompts begin alike up to what the latest turn changed, and a group's up to where its episodes
part. Their tokens make a tree: each sees those on its way from the root, and nothing of other ways. Numbers
and gradients are those of the turns apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import TokenSequence, rotary_positions
from deskhand_sandbox.types import Image


class Turn(Protocol):
    """What scoring needs of a turn; the trainer's `TrainingSample` is one."""

    @property
    def prompt_ids(self) -> tuple[int, ...]: ...

    @property
    def reply_ids(self) -> tuple[int, ...]: ...

    @property
    def images(self) -> tuple[Image, ...]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """Turns as one sequence, the tokens that are read last."""

    sequence: TokenSequence
    read: int
    """How many they are: of each turn the last of its prompt, and of its reply all but the last."""
    places: dict[int, list[int]]
    """Row of each turn -> where those of it stand among them, in order."""


def apart(turns: Sequence[Turn]) -> list[Tree]:
    """Each turn for itself, in order."""
    return [_alone(turn, row) for row, turn in enumerate(turns)]


def grown(bundle: ModelBundle, turns: Sequence[Turn]) -> list[Tree]:
    """As few sequences as pay: what attending to longer ones costs is made up for by what is computed once.

    Raises:
        InferenceError: a picture is unreadable, or its placeholder run has another length than its features.
    """
    paths = _paths(bundle, turns)
    # neighbours in this order have more in common than with any other
    order = sorted(range(len(turns)), key=lambda row: paths[row].symbols.astype(">i8").tobytes())
    trees: list[list[tuple[int, int]]] = []
    cost = _Cost(bundle)
    for row in order:
        length, shared = len(paths[row].symbols), 0
        if trees:
            shared = _common(paths[row].symbols, paths[trees[-1][-1][0]].symbols)
        if not trees or not cost.pays(length, shared):
            trees.append([])
            cost.begin(length)
            shared = 0
        trees[-1].append((row, shared))
    return [
        _alone(turns[row], row, paths[row].positions) if len(tree) == 1 else _joined(turns, paths, tree)
        for tree in trees
        for row, _ in tree[:1]
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Path:
    """A turn from the root to the last token that is read."""

    symbols: NDArray[np.int64]
    """Ids, and for a picture's placeholders a negative number of its own."""
    positions: Tensor
    """[3, as many]."""
    pictures: NDArray[np.int64]
    """Placeholders up to the end of each."""


class _Cost:
    """Of a layer for the tree that grows, in multiplications of matrices: of tokens, and of pairs that
    attend, whose multiplications take about twice as long."""

    def __init__(self, bundle: ModelBundle) -> None:
        text: Any = bundle.model.config.text_config
        heads = int(text.num_attention_heads)
        width = heads * int(getattr(text, "head_dim", 0) or text.hidden_size // heads)
        keys = width * int(text.num_key_value_heads) // heads
        self._token = int(text.hidden_size) * (2 * width + 2 * keys + 3 * int(text.intermediate_size))
        self._pair = 4 * width
        self.begin(0)

    def begin(self, length: int) -> None:
        """A tree of one turn, of which each token sees those before it."""
        self._length, self._cost = length, self._of(length)

    def pays(self, length: int, shared: int) -> bool:
        """Whether another turn is cheaper in the tree than apart; then it is in it."""
        together = self._length + length - shared
        # under a mask nothing is left out
        cost = together * self._token + together**2 * self._pair
        if cost >= self._cost + self._of(length):
            return False
        self._length, self._cost = together, cost
        return True

    def _of(self, length: int) -> int:
        return length * self._token + length**2 // 2 * self._pair


def _paths(bundle: ModelBundle, turns: Sequence[Turn]) -> list[_Path]:
    image_id, merge = int(bundle.model.config.image_token_id), bundle.images.merge
    numbers: dict[str, int] = {}
    found: list[_Path] = []
    for turn in turns:
        grids = [bundle.cache.grid(image) for image in turn.images]
        positions, after = rotary_positions(bundle, turn.prompt_ids, grids)
        written = torch.arange(after, after + len(turn.reply_ids) - 1).expand(3, -1)
        symbols = np.array(turn.prompt_ids + turn.reply_ids[:-1], dtype=np.int64)
        names = [-1 - numbers.setdefault(image.digest, len(numbers)) for image in turn.images]
        counts = np.array([rows * columns // merge**2 for rows, columns in grids], dtype=np.int64)
        prompt = symbols[: len(turn.prompt_ids)]
        prompt[prompt == image_id] = np.repeat(np.array(names, dtype=np.int64), counts)
        found.append(
            _Path(
                symbols=symbols,
                positions=torch.cat([positions, written], dim=1),
                pictures=counts.cumsum(),
            )
        )
    return found


def _common(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """How many symbols they begin with alike."""
    length = min(len(one), len(other))
    differ = np.flatnonzero(one[:length] != other[:length])
    return int(differ[0]) if len(differ) else length


def _alone(turn: Turn, row: int, positions: Tensor | None = None) -> Tree:
    read = len(turn.reply_ids)
    ids = turn.prompt_ids + turn.reply_ids[:-1]
    sequence = TokenSequence(ids=ids, images=turn.images, positions=positions)
    return Tree(sequence=sequence, read=read, places={row: list(range(read))})


def _joined(turns: Sequence[Turn], paths: Sequence[_Path], tree: Sequence[tuple[int, int]]) -> Tree:
    """Rows with what each has in common with the one before, as one sequence."""
    size = sum(len(paths[row].symbols) - shared for row, shared in tree)
    seen = np.zeros((size, size), dtype=bool)
    read = np.zeros(size, dtype=bool)
    ids: list[int] = []
    images: list[Image] = []
    positions: list[Tensor] = []
    ways: dict[int, NDArray[np.int64]] = {}
    way = np.arange(0)
    for row, shared in tree:
        turn, path = turns[row], paths[row]
        begin = len(ids)
        ids += (turn.prompt_ids + turn.reply_ids[:-1])[shared:]
        known = int((path.symbols[:shared] < 0).sum())
        images += turn.images[int(np.searchsorted(path.pictures, known, side="right")) :]
        positions.append(path.positions[:, shared:])
        way = np.concatenate([way[:shared], np.arange(begin, len(ids))])
        seen[begin : len(ids), way[:shared]] = True
        seen[begin : len(ids), begin : len(ids)] = np.tri(len(ids) - begin, dtype=bool)
        ways[row] = way[len(turn.prompt_ids) - 1 :]
        read[ways[row]] = True
    order = np.argsort(read, kind="stable")
    rank = np.empty(size, dtype=np.int64)
    rank[order] = np.arange(size)
    first = size - int(read.sum())
    return Tree(
        sequence=TokenSequence(
            ids=tuple(ids[at] for at in order.tolist()),
            images=tuple(images),
            positions=torch.cat(positions, dim=1)[:, order],
            seen=torch.from_numpy(seen[order][:, order]),
        ),
        read=size - first,
        places={row: (rank[way] - first).tolist() for row, way in ways.items()},
    )
