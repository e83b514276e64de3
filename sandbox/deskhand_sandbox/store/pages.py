"""The shop's pages, each from its address alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

from deskhand_sandbox.store.catalogue import Product, catalogue
from deskhand_sandbox.store.search import find

HOST = "store.localhost"
"""Where a browser finds it: the site `store` of the browser backend."""
HOME = "/"
ON_A_PAGE = 6
"""Results."""
LONGEST_QUERY = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """Something to read."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """Something to click."""

    label: str
    to: str
    """Address."""
    note: str = ""
    """Beside it."""
    chosen: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """An option of a product, one link for each value."""

    name: str
    links: tuple[Link, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchBox:
    """Where words are typed to look for."""

    query: str = ""


Part: TypeAlias = Line | Link | Choice | SearchBox


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What an address shows."""

    title: str
    parts: tuple[Part, ...]

    @property
    def links(self) -> tuple[Link, ...]:
        """All that can be clicked, choices too."""
        groups = (
            part.links if isinstance(part, Choice) else (part,) if isinstance(part, Link) else ()
            for part in self.parts
        )
        return tuple(link for group in groups for link in group)

    @property
    def searches(self) -> bool:
        """Whether words can be looked for here."""
        return any(isinstance(part, SearchBox) for part in self.parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Purchase:
    """What was bought."""

    product: Product
    chosen: Mapping[str, str] = field(default_factory=dict[str, str])


def address_of(url: str) -> str | None:
    """The address a page of the shop has inside it; None for other pages."""
    place = urlsplit(url)
    if place.hostname != HOST:
        return None
    return f"{place.path}?{place.query}" if place.query else place.path


def read_address(address: str) -> tuple[str, dict[str, str]]:
    """Path, and what is asked of it."""
    parts = urlsplit(address)
    return parts.path or HOME, dict(parse_qsl(parts.query))


def search_address(query: str) -> str:
    """The address of what a search finds."""
    return f"/search?{urlencode({'q': query.strip()[:LONGEST_QUERY]})}"


def bought(address: str) -> Purchase | None:
    """What was bought, where the address says that something was."""
    path, asked = read_address(address)
    product = catalogue().get(asked.get("id", ""))
    if path != "/bought" or product is None:
        return None
    return Purchase(product=product, chosen=_chosen(product, asked))


def show(address: str) -> Page:
    """The page of an address; of none of the shop's, one that says so."""
    path, asked = read_address(address)
    if path == HOME:
        return Page(title="Store", parts=(Line(text="What are you looking for?"), SearchBox()))
    if path == "/search":
        return _results(asked)
    product = catalogue().get(asked.get("id", ""))
    if product is not None:
        match path:
            case "/item":
                return _item(product, asked)
            case "/features":
                return _features(product, asked)
            case "/bought":
                words = ", ".join(f"{name} {value}" for name, value in _chosen(product, asked).items())
                told = (f"Thank you for buying {product.title}.", words)
                return Page(title="Bought", parts=tuple(Line(text=text) for text in told if text))
            case _:
                pass
    return Page(title="Nothing is here", parts=(Link(label="Back to search", to=HOME),))


def _results(asked: Mapping[str, str]) -> Page:
    query, found = asked.get("q", ""), find(asked.get("q", ""))
    pages = max(1, -(-len(found) // ON_A_PAGE))
    number = min(max(int(asked["page"]) if asked.get("page", "").isdecimal() else 1, 1), pages)
    parts: list[Part] = [SearchBox(query=query), Link(label="Back to search", to=HOME)]
    for label, other in (("Previous", number - 1), ("Next", number + 1)):
        if 1 <= other <= pages:
            parts.append(Link(label=label, to=f"/search?{urlencode({'q': query, 'page': other})}"))
    for product in found[(number - 1) * ON_A_PAGE : number * ON_A_PAGE]:
        place = urlencode({"id": product.id, "q": query, "page": number})
        parts.append(Link(label=product.id, to=f"/item?{place}", note=f"{product.title} {product.price}"))
    return Page(title=f"{len(found)} results, page {number} of {pages}", parts=tuple(parts))


def _item(product: Product, asked: Mapping[str, str]) -> Page:
    parts: list[Part] = [Line(text=product.price)]
    for name, values in product.options.items():
        links = (
            Link(
                label=value,
                to=f"/item?{urlencode({**asked, name: value})}",
                chosen=asked.get(name) == value,
            )
            for value in values
        )
        parts.append(Choice(name=name, links=tuple(links)))
    purchase = {"id": product.id, **_chosen(product, asked)}
    results = {"q": asked.get("q", ""), "page": asked.get("page", "1")}
    parts += [
        Link(label="Features", to=f"/features?{urlencode(asked)}"),
        Link(label="Buy now", to=f"/bought?{urlencode(purchase)}"),
        Link(label="Back to results", to=f"/search?{urlencode(results)}"),
        Link(label="Back to search", to=HOME),
    ]
    return Page(title=product.title, parts=tuple(parts))


def _features(product: Product, asked: Mapping[str, str]) -> Page:
    told = [Line(text=each) for each in product.attributes]
    return Page(
        title=f"Features of {product.title}",
        parts=(*told, Link(label="Back to item", to=f"/item?{urlencode(asked)}")),
    )


def _chosen(product: Product, asked: Mapping[str, str]) -> dict[str, str]:
    """Name of an option -> its value, of those an address says."""
    return {name: asked[name] for name in product.options if name in asked}
