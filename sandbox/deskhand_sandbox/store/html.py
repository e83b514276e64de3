"""The shop for a browser."""

from __future__ import annotations

from html import escape

from deskhand_sandbox.store.pages import Choice, Line, Link, Page, Part, SearchBox

_STYLE = """
body { font: 13px/1.35 sans-serif; margin: 8px; color: #1b2631; background: #fff; }
h1 { font-size: 15px; margin: 2px 0 6px; }
p { margin: 3px 0; }
a { color: #1f4e9c; margin: 0 6px 4px 0; display: inline-block; }
a.button, button { border: 1px solid #566573; border-radius: 3px; padding: 2px 6px; text-decoration: none;
  background: #eaecee; color: #1b2631; font: inherit; }
a.chosen { background: #1f4e9c; color: #fff; }
input { font: inherit; width: 60%; padding: 2px 4px; border: 1px solid #566573; }
form { margin: 4px 0; }
"""


def as_html(page: Page) -> str:
    """A whole document."""
    body = "\n".join(_part(part) for part in page.parts)
    title = escape(page.title)
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{_STYLE}</style><body><h1>{title}</h1>\n{body}\n</body></html>"
    )


def _part(part: Part) -> str:
    match part:
        case Line():
            return f"<p>{escape(part.text)}</p>"
        case Choice():
            return f"<p>{escape(part.name)}: {''.join(map(_link, part.links))}</p>"
        case SearchBox():
            return (
                '<form action="/search"><input name=q maxlength=200 aria-label="Search" '
                f'value="{escape(part.query, quote=True)}"> <button>Search</button></form>'
            )
        case Link(note=""):
            return _link(part)
        case Link():
            return f"<p>{_link(part)}{escape(part.note)}</p>"


def _link(link: Link) -> str:
    style = "button chosen" if link.chosen else "" if link.note else "button"
    return f'<a class="{style}" href="{escape(link.to, quote=True)}">{escape(link.label)}</a>'
