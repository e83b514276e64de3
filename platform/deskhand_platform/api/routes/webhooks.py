"""/v1/webhooks: who is told what becomes of tasks, or of alarms, and what they were told."""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_platform.accounts.access import Principal
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.api.deps import Cursor, Have, Limit, Noted, Who, cursor_id
from deskhand_platform.api.models import Page
from deskhand_platform.api.result_models import DeliveryModel, NewWebhook, WebhookBody, WebhookModel
from deskhand_platform.errors import Forbidden, InvalidField
from deskhand_platform.services import Services
from deskhand_platform.webhooks.about import About
from deskhand_platform.webhooks.book import Delivery, DeliveryState, Webhook, WebhookBook
from deskhand_platform.webhooks.destinations import Refused, resolve

router = APIRouter(tags=["webhooks"])
NEEDED = {About.TASKS: "tasks:read", About.ALARMS: "metrics:read"}
"""The scope of who has it sent, or sees what was: nobody is told what they may not read."""


@router.post("/webhooks", status_code=201)
async def add_webhook(have: Have, who: Who, noted: Noted, body: WebhookBody) -> NewWebhook:
    """Have results, or alarms, sent from now on, signed with a secret that is shown this once. Alarms that
    stand already are told first. Submitters have results of their own tasks sent, and no alarms.
    """
    _check_told(who, body.about)
    try:
        await resolve(body.url, have.settings.webhooks.networks)
    except Refused as error:
        raise InvalidField("url", str(error)) from error
    newest, limit = await have.store.last_event_id(), have.settings.webhooks.per_owner
    alarms = await AlarmBook(have.store).open() if body.about is About.ALARMS else ()
    standing = [one for one in reversed(alarms) if one.id <= newest]
    made, secret = await _book(have).add(
        who.name, limit, body.url, body.about, body.labels, body.states, newest, standing
    )
    noted(made.id)
    return NewWebhook(**shown(made).model_dump(), secret=secret)


@router.get("/webhooks")
async def list_webhooks(have: Have, who: Who) -> list[WebhookModel]:
    """Everybody who is told, newest first; submitters see their own."""
    return [shown(one) for one in await _book(have).list(who.only)]


@router.get("/webhooks/{id}")
async def get_webhook(have: Have, id: str) -> WebhookModel:
    """One of them."""
    return shown(await _book(have).get(id))


@router.delete("/webhooks/{id}")
async def remove_webhook(have: Have, id: str) -> WebhookModel:
    """Tell somebody no more; what has not arrived yet never does."""
    return shown(await _book(have).remove(id))


@router.get("/webhooks/{id}/deliveries")
async def list_deliveries(
    have: Have,
    who: Who,
    id: str,
    state: DeliveryState | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[DeliveryModel]:
    """What it was and is to be told, newest first; nothing of what one may not read."""
    before = cursor_id(cursor)
    if NEEDED[(await _book(have).get(id)).about] not in who.scopes:
        return Page[DeliveryModel](items=[], next_cursor=None)
    found = await _book(have).deliveries(id, only=who.only, state=state, before=before, limit=limit)
    more = found[-1].id if len(found) == limit else None
    return Page[DeliveryModel](items=[_delivery(one) for one in found], next_cursor=more)


@router.post("/webhooks/{id}/deliveries/{delivery_id}/retry")
async def retry_delivery(have: Have, who: Who, id: str, delivery_id: str) -> DeliveryModel:
    """Send again what was given up."""
    _check_told(who, (await _book(have).get(id)).about)
    return _delivery(await _book(have).retry(id, delivery_id, who.only))


def shown(webhook: Webhook) -> WebhookModel:
    """A webhook for the wire: without its secret."""
    return WebhookModel(
        id=webhook.id,
        owner=webhook.owner,
        url=webhook.url,
        about=webhook.about,
        labels=dict(webhook.labels),
        states=list(webhook.states),
        created_at_s=webhook.created_at_s,
    )


def _check_told(who: Principal, about: About) -> None:
    """
    Raises:
        Forbidden: they, or their token, may not read what it is about.
    """
    needed = NEEDED[about]
    if needed not in who.scopes:
        raise Forbidden(f"{who.name} may not be told of {about}: that needs the scope {needed!r}")


def _book(have: Services) -> WebhookBook:
    return WebhookBook(have.store.database)


def _delivery(delivery: Delivery) -> DeliveryModel:
    return DeliveryModel(
        id=delivery.id,
        state=delivery.state.value,
        attempts=delivery.attempts,
        due_at_s=delivery.due_at_s,
        reason=delivery.reason,
        payload=dict(delivery.payload),
        created_at_s=delivery.created_at_s,
        ended_at_s=delivery.ended_at_s,
    )
