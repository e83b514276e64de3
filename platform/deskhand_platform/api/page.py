"""The built page with its client-side routes."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response

from deskhand_platform.errors import NotFound

STATIC = Path(__file__).parents[1] / "static"
NOT_BUILT = """<!doctype html><meta charset="utf-8"><title>Deskhand</title>
<h1>The page is not built yet</h1>
<p>Run <code>make setup</code> in the repository, then reload.
The API under <code>/v1</code> works without it.</p>
"""
router = APIRouter(include_in_schema=False)


@router.get("/{path:path}")
async def page(path: str) -> Response:
    """A file of the built page; anything else is a route of the page itself."""
    if path.startswith("v1/") or path == "v1":
        raise NotFound("route", f"/{path}")
    index = STATIC / "index.html"
    if not index.exists():
        return HTMLResponse(NOT_BUILT, status_code=503)
    try:
        file = (STATIC / path).resolve()
        there = bool(path) and file.is_relative_to(STATIC.resolve()) and file.is_file()
    except (OSError, ValueError) as error:  # longer than a name may be, or with a NUL
        raise NotFound("file", f"/{path}") from error
    if there:
        forever = path.startswith("assets/")
        return FileResponse(
            file, headers={"Cache-Control": "public, max-age=31536000, immutable" if forever else "no-cache"}
        )
    if path.startswith("assets/"):
        raise NotFound("file", f"/{path}")
    return FileResponse(index, headers={"Cache-Control": "no-cache"})
