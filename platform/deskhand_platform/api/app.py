"""The application: routes, errors, the page, and who may come in."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deskhand_platform.api import errors, page, record, session
from deskhand_platform.api.bounded import Bounded
from deskhand_platform.api.deps import PREFIX, admit
from deskhand_platform.api.description import described
from deskhand_platform.api.hosts import KnownHosts, answered
from deskhand_platform.api.models import ErrorAnswer
from deskhand_platform.api.parameters import refuse_unknown
from deskhand_platform.api.routes import (
    alarms,
    annotations,
    audit,
    branches,
    catalog,
    chat,
    datasets,
    evaluations,
    events,
    exchange,
    flywheel,
    in_force,
    info,
    jobs,
    live,
    loans,
    operations,
    overview,
    policies,
    previews,
    promotions,
    proposals,
    quotas,
    reviews,
    rounds,
    schedules,
    steps,
    takeovers,
    task_events,
    tasks,
    tokens,
    trajectories,
    users,
    vnc,
    webhooks,
)
from deskhand_platform.api.whole_text import WholeText
from deskhand_platform.feed import EventFeed
from deskhand_platform.services import Services

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

REFUSAL: dict[str, Any] = {
    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}}}
}
"""By reference: of a model FastAPI would make a validator for every route and status before the first answer,
and nothing is ever validated by them."""

HARDENING = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def create_app(services: Services | None = None, *, version: str = "0.1.0") -> FastAPI:
    """The application over `services`; without them only its description can be read."""
    app = FastAPI(
        title="Deskhand",
        version=version,
        description="Tasks, rounds, trajectories and policies of one Deskhand platform.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        default_response_class=WholeText,
        dependencies=[Depends(admit)],
        generate_unique_id_function=lambda route: route.name,
    )
    app.openapi = lambda: described(app)
    app.state.services = services
    app.state.feed = None if services is None else EventFeed(services.store)
    errors.install(app)
    parts = (info, task_events, previews, tasks, catalog, rounds, promotions, schedules, trajectories)
    seen = (policies, events, alarms, overview, datasets, flywheel, evaluations, steps, branches, live, loans)
    people = (annotations, proposals, reviews, takeovers, users, tokens, quotas, audit, in_force)
    for part in (*parts, *seen, exchange, jobs, vnc, webhooks, chat, *people):
        app.include_router(
            part.router,
            prefix=PREFIX,
            dependencies=[Depends(refuse_unknown)],
            responses=dict.fromkeys((400, 401, 403, 404, 409, 422, 429, 503), REFUSAL),
        )
    app.include_router(operations.router)
    app.include_router(session.router)
    app.include_router(page.router)
    app.add_middleware(Bounded, streamed=[PREFIX + path for path in exchange.STREAMED])
    app.add_middleware(record.Recorded)
    app.add_middleware(_Hardened)
    if services is not None and (names := answered(services.settings)) is not None:
        app.add_middleware(KnownHosts, names=names)
    return app


class _Hardened:
    """Every answer says what a browser may do with it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HARDENING.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sent if scope["type"] == "http" else send)
