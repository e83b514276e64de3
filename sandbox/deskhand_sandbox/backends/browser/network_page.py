"""A clear page in place of a document that the network policy refuses."""

from __future__ import annotations

import base64

from deskhand_sandbox.backends.browser.cdp import CdpSession, Payload
from deskhand_sandbox.backends.browser.network import PolicyProxy, blocked_page


async def show_blocked(session: CdpSession, proxy: PolicyProxy) -> None:
    """Answer requests for refused documents of a page and its frames before they are sent.

    The proxy refuses them in any case: of an encrypted one it could say nothing but that.
    """

    def asked(event: Payload) -> None:
        where = proxy.refuses(event["request"]["url"])
        if where is None:
            session.send("Fetch.continueRequest", {"requestId": event["requestId"]})
            return
        proxy.block(where)
        answer: dict[str, object] = {
            "requestId": event["requestId"],
            "responseCode": 403,
            "responseHeaders": [{"name": "Content-Type", "value": "text/html; charset=utf-8"}],
            "body": base64.b64encode(blocked_page(where).encode()).decode(),
        }
        session.send("Fetch.fulfillRequest", answer)

    session.on("Fetch.requestPaused", asked)
    await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*", "resourceType": "Document"}]})
