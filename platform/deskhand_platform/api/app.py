"""The application: routes, errors, the page, and who may come in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Depends, FastAPI, Request, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware

from deskhand_platform.api import errors, page, session
from deskhand_platform.api.deps import owner_changes, signed_in
from deskhand_platform.api.models import ErrorAnswer
from deskhand_platform.api.routes import (
    alarms,
    annotations,
    catalog,
    datasets,
    evaluations,
    events,
    flywheel,
    info,
    operations,
    overview,
    policies,
    previews,
    proposals,
    reviews,
    rounds,
    tasks,
    trajectories,
)
from deskhand_platform.services import Services

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def create_app(services: Services | None = None, *, version: str = "0.1.0") -> FastAPI:
    """The application over `services`; without them only its description can be read."""
    app = FastAPI(
        title="Deskhand",
        version=version,
        description="Tasks, rounds, trajectories and policies of one Deskhand platform.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.services = services
    errors.install(app)
    parts = (info, previews, tasks, catalog, rounds, trajectories, policies, events, alarms, overview)
    parts += (datasets, flywheel, evaluations)
    for part in (*parts, annotations, proposals, reviews):
        door = owner_changes if part in parts else signed_in
        app.include_router(
            part.router,
            prefix="/v1",
            dependencies=[Depends(door)],
            responses={status: {"model": ErrorAnswer} for status in (401, 403, 404, 409, 422)},
        )
    app.include_router(operations.router)
    app.include_router(session.router)
    app.include_router(page.router)
    app.middleware("http")(_harden)
    if services is not None:
        # a page of another site must not reach a loopback server by a name of its own (DNS rebinding)
        hosts = [*LOOPBACK, services.settings.host]
        open_to_all = services.settings.host in ("0.0.0.0", "::")
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["*"] if open_to_all else hosts)
    return app


async def _harden(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await proceed(request)
    response.headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "no-referrer")
    return response
