"""The goods: the same for everybody, drawn once from a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

SEED = 20261123
EACH = 14
"""Goods of a kind."""

# fmt: off
DEPARTMENTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "home": {
        "lamp": ("dimmable", "brass", "wireless", "foldable", "bamboo", "warm light"),
        "blanket": ("woven", "machine washable", "wool", "quilted", "lightweight", "fringed"),
        "curtain": ("blackout", "linen", "washable", "lined", "pleated", "sheer"),
        "cushion": ("velvet", "filled", "handmade", "washable", "outdoor", "knitted"),
    },
    "clothes": {
        "jacket": ("waterproof", "hooded", "lined", "reflective", "lightweight", "belted"),
        "shirt": ("cotton", "long sleeve", "slim fit", "non iron", "striped", "organic"),
        "scarf": ("wool", "handmade", "fringed", "soft", "reversible", "silk"),
        "socks": ("merino", "ankle", "cushioned", "seamless", "thermal", "ribbed"),
    },
    "outdoors": {
        "backpack": ("padded", "waterproof", "laptop sleeve", "foldable", "reflective", "canvas"),
        "bottle": ("insulated", "leakproof", "steel", "dishwasher safe", "wide mouth", "folding"),
        "tent": ("two person", "waterproof", "pop up", "ventilated", "ultralight", "four season"),
        "mat": ("non slip", "thick", "inflatable", "foldable", "eco", "washable"),
    },
    "desk": {
        "notebook": ("ruled", "hardcover", "recycled", "dotted", "spiral", "pocket"),
        "mouse": ("wireless", "silent", "ergonomic", "rechargeable", "vertical", "compact"),
        "headphones": ("wireless", "noise cancelling", "foldable", "wired", "over ear", "kids"),
        "chair": ("ergonomic", "mesh", "reclining", "adjustable", "swivel", "padded"),
    },
}
"""Department -> kind of goods -> what they can be."""
BRANDS = ("Aldra", "Bento", "Corvo", "Dunmere", "Elowen", "Fjell", "Gratia", "Hollin", "Iseo", "Juniper")
COLORS = ("black", "white", "red", "blue", "green", "gray", "yellow", "orange", "purple")
SIZES: Mapping[str, tuple[str, ...]] = {
    "home": ("small", "medium", "large"),
    "clothes": ("S", "M", "L", "XL"),
    "outdoors": ("small", "large"),
    "desk": (),
}
"""Department -> sizes its goods come in; none: there is nothing to choose."""
# fmt: on
SHOWN = 2
"""Attributes that stand in a title; the others are told on the page of features."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """Something to buy."""

    id: str
    """As in B07K."""
    title: str
    kind: str
    department: str
    attributes: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    """Name ("color", "size") -> what can be chosen."""
    cents: int
    """Price."""

    @property
    def price(self) -> str:
        return f"${self.cents / 100:.2f}"


@cache
def catalogue() -> Mapping[str, Product]:
    """Every product by its id."""
    draw = random.Random(SEED)
    found: dict[str, Product] = {}
    for department, kinds in DEPARTMENTS.items():
        for kind, words in kinds.items():
            for _ in range(EACH):
                product = _product(draw, f"B{len(found):03d}", department, kind, words)
                found[product.id] = product
    return MappingProxyType(found)


def _product(draw: random.Random, id: str, department: str, kind: str, words: tuple[str, ...]) -> Product:
    attributes = tuple(draw.sample(words, draw.randint(3, 4)))
    options: dict[str, tuple[str, ...]] = {"color": tuple(draw.sample(COLORS, draw.randint(2, 4)))}
    sizes = SIZES[department]
    if sizes:
        options["size"] = tuple(each for each in sizes if draw.random() < 0.8) or sizes[:1]
    title = " ".join([draw.choice(BRANDS), *(word.title() for word in attributes[:SHOWN]), kind.title()])
    return Product(
        id=id,
        title=title,
        kind=kind,
        department=department,
        attributes=attributes,
        options=MappingProxyType(options),
        cents=draw.randrange(500, 12_000, 50) - 1,
    )
