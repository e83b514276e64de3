"""The shop's pages by their addresses, as text and as HTML."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.backends.browser.sites import site_url
from deskhand_sandbox.store.html import as_html
from deskhand_sandbox.store.pages import HOME, address_of, bought, search_address, show
from deskhand_sandbox.store.text import as_text, follow


def walked(*commands: str) -> str:
    address = HOME
    for command in commands:
        to = follow(address, command)
        assert to is not None, (command, as_text(show(address)))
        address = to
    return address


def test_from_the_search_to_the_purchase() -> None:
    at = walked("search wool blanket")
    first = next(link for link in show(at).links if link.note)
    item = walked("search wool blanket", f"click {first.label.lower()}")
    choice = next(link for link in show(item).links if "color=" in link.to)
    assert f"[{choice.label}]*" not in as_text(show(item))
    chosen = walked("search wool blanket", f"click {first.label}", f"click {choice.label}")
    assert f"[{choice.label}]*" in as_text(show(chosen))
    assert walked("search wool blanket", f"click {first.label}", "click Back to results").startswith(
        "/search"
    )
    features = walked("search wool blanket", f"click {first.label}", "click features")
    assert follow(features, "click Back to item") is not None
    end = follow(chosen, "click Buy now")
    assert end is not None and bought(chosen) is None
    purchase = bought(end)
    assert purchase is not None
    assert (purchase.product.id, dict(purchase.chosen)) == (first.label, {"color": choice.label})


def test_results_are_turned_page_by_page() -> None:
    one = walked("search lamp")
    two = walked("search lamp", "click next")
    assert walked("search lamp", "click Next", "click Previous").endswith("page=1")
    labels = [{link.label for link in show(at).links if link.note} for at in (one, two)]
    assert labels[0] and labels[1] and not labels[0] & labels[1]


@pytest.mark.parametrize("command", ["", "search", "click", "click Nowhere", "buy lamp", "search  "])
def test_commands_without_a_meaning_lead_nowhere(command: str) -> None:
    assert follow(HOME, command) is None


@given(st.text(max_size=60))
def test_whatever_is_looked_for_is_shown_as_text_of_its_own(query: str) -> None:
    page = show(search_address(query))
    assert "<script" not in as_html(page).replace("&lt;script", "")
    assert page.title
    assert as_text(page)


@given(st.text(max_size=60))
def test_any_address_has_a_page(address: str) -> None:
    for path in ("/", "/search", "/item", "/features", "/bought", ""):
        assert as_html(show(f"{path}?{quote(address)}&id=B001&page={quote(address)}"))
    assert as_html(show("/" + quote(address)))


def test_what_is_written_in_a_query_is_no_markup() -> None:
    html = as_html(show(search_address('"><script>alert(1)</script>')))
    assert "<script" not in html and "&lt;script&gt;" in html


def test_a_browser_finds_the_shop_where_its_addresses_are_read() -> None:
    for address in ("/", "/item?id=B001&color=red", "/search?q=lamp"):
        assert address_of(site_url("store", address)) == address
    for other in ("about:blank", "http://pages.localhost/item?id=B001", "data:text/html,/bought?id=B001"):
        assert address_of(other) is None
