"""Finding goods by words: those that hold more of the rarer words first."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache

from deskhand_sandbox.store.catalogue import Product, catalogue

_WORD = re.compile(r"[a-z0-9]+")


def find(query: str) -> tuple[Product, ...]:
    """Goods whose title, kind, features or colours hold a word of the query, the best first."""
    asked = set(_words(query))
    rarity = _rarity()
    scores = {product.id: sum(rarity.get(word, 0.0) for word in asked & words) for product, words in _index()}
    order = sorted((-score, id) for id, score in scores.items() if score > 0)
    return tuple(catalogue()[id] for _, id in order)


def _words(text: str) -> list[str]:
    return [word.removesuffix("s") for word in _WORD.findall(text.lower())]


@cache
def _index() -> tuple[tuple[Product, frozenset[str]], ...]:
    return tuple(
        (
            product,
            frozenset(_words(" ".join([product.title, *product.attributes, *product.options["color"]]))),
        )
        for product in catalogue().values()
    )


@cache
def _rarity() -> dict[str, float]:
    """Word -> log of goods in all over goods with it."""
    often = Counter(word for _, words in _index() for word in words)
    return {word: math.log(1 + len(_index()) / count) for word, count in often.items()}
