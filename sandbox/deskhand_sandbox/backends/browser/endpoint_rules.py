"""What a stranger at a leased browser may ask of it: everything about the lease's own pages, nothing else.

Other sandboxes' pages, the machine's files and the browser as a whole are out of reach. Rules are of what is
allowed: a command that a newer Chromium adds is refused until it is named here.
"""

from __future__ import annotations

from collections.abc import Set
from typing import cast
from urllib.parse import urlsplit

from deskhand_sandbox.backends.browser.cdp import Payload

OWN_PAGE = frozenset(
    """
    Accessibility Animation Audits CSS CacheStorage Console DOM DOMDebugger DOMSnapshot DOMStorage Debugger
    Emulation EventBreakpoints Fetch FileSystem HeapProfiler IO IndexedDB Input Inspector LayerTree Log Media
    Network Overlay Page Performance PerformanceTimeline Preload Profiler Runtime Schema Security
    ServiceWorker WebAudio WebAuthn
    """.split()  # noqa: SIM905
)
"""Domains whose commands reach no further than the page they are sent to."""
REFUSED = frozenset({"Network.loadNetworkResource", "DOM.setFileInputFiles", "DOM.getFileInfo"})
"""Commands of these domains that reach this machine's files all the same."""
IGNORED = frozenset({"Browser.setDownloadBehavior", "Page.setDownloadBehavior"})
"""Answered, and not done: downloads land in the sandbox's own folder."""
COOKIES = frozenset({"Storage.getCookies", "Storage.setCookies", "Storage.clearCookies"})
TO_TARGET = frozenset({"Target.attachToTarget", "Target.closeTarget", "Target.activateTarget"})
WITHIN_PAGE = frozenset(
    {"Target.setAutoAttach", "Target.getTargetInfo", "Target.detachFromTarget", "Browser.getVersion"}
)
SCHEMES = frozenset({"http", "https", "about", "data", "blob", ""})


class Refused(Exception):
    """A command that is not to be passed on; says why."""


def check(
    method: str, parameters: Payload, *, in_page: bool, context_id: str, targets: Set[str], sessions: Set[str]
) -> Payload:
    """The parameters to pass a command on with.

    Args:
        in_page: it is sent to a page, not to the browser.
        targets, sessions: of the lease's own context.

    Raises:
        Refused: it reaches beyond the lease.
    """
    domain = method.partition(".")[0]
    if method in COOKIES:
        return {**parameters, "browserContextId": context_id}
    if method == "Target.createTarget" and not in_page:
        _check_address(parameters)
        return {**parameters, "browserContextId": context_id}
    target = cast("object", parameters.get("targetId"))
    if target is not None and not (isinstance(target, str) and target in targets):
        raise Refused("there is no such target")
    session = cast("object", parameters.get("sessionId"))
    if session is not None and not (isinstance(session, str) and session in sessions):
        raise Refused("there is no such session")
    if method in WITHIN_PAGE or (method in TO_TARGET and not in_page and target is not None):
        return {**parameters, "flatten": True} if method == "Target.attachToTarget" else parameters
    if not in_page or domain not in OWN_PAGE or method in REFUSED:
        raise Refused(f"{method} is not offered here: this endpoint reaches the pages of one lease")
    if method == "Page.navigate":
        _check_address(parameters)
    if method == "Input.dispatchDragEvent":
        _check_dragged(parameters)
    return parameters


def _check_address(parameters: Payload) -> None:
    url = str(parameters.get("url", ""))
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise Refused(f"{url!r} is no address: {error}") from None
    if scheme not in SCHEMES:
        raise Refused(
            f"{url!r} cannot be opened: this machine's files and the browser's own pages are closed"
        )


def _check_dragged(parameters: Payload) -> None:
    data = cast("object", parameters.get("data"))
    if isinstance(data, dict) and cast("Payload", data).get("files"):
        raise Refused("this machine's files cannot be dragged to a page: leave files out")
