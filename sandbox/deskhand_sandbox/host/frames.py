"""The frames of a lease's channel: a request, and its reply or its error.

request  [id, target, method, argument]      target 0 is the leased sandbox, others are forks of it
reply    [id, true, result]
error    [id, false, {type, message, …}]     raised at the other end as the same class
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from deskhand_sandbox import errors
from deskhand_sandbox.base import Capability
from deskhand_sandbox.errors import LeaseExpired, SandboxError, UnknownName
from deskhand_sandbox.host import wire
from deskhand_sandbox.host.wire import Plain, WireError

LEASE_OVER = 4410
"""Close code of a channel: the lease has ended."""
BAD_FRAME = 4400
"""Close code of a channel: a frame was no request."""
HOST_FAILED = 1011
"""Close code of a channel: a bug in the host or in a backend; the host's log has the traceback."""
LARGEST_FRAME = 256 * 1024 * 1024
"""Bytes of one frame, either way: a screenshot with a large text tree fits many times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One call on a sandbox."""

    id: int
    target: int
    """0 for the leased sandbox; the number `fork` gave for a copy."""
    method: str
    argument: Any
    """Plain values, not yet decoded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What came of a call."""

    id: int
    result: Any
    """Plain values, not yet decoded; None when there is an error."""
    error: SandboxError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Handle:
    """A sandbox at the other end."""

    target: int
    sandbox_id: str
    kind: str
    capabilities: frozenset[Capability]


def pack_request(request_id: int, target: int, method: str, argument: Plain) -> bytes:
    """A request as one frame."""
    return wire.pack([request_id, target, method, argument])


def read_request(data: bytes) -> Request:
    """
    Raises:
        WireError: the frame is no request.
    """
    match wire.unpack(data):
        case [int(id_), int(target), str(method), argument]:
            return Request(id=id_, target=target, method=method, argument=argument)
        case _:
            raise WireError("a request is [id, target, method, argument]")


def pack_reply(request_id: int, result: Plain) -> bytes:
    """A result as one frame."""
    return wire.pack([request_id, True, result])


def pack_error(request_id: int, error: SandboxError) -> bytes:
    """An error as one frame."""
    return wire.pack([request_id, False, encode_error(error)])


def read_reply(data: bytes) -> Reply:
    """
    Raises:
        WireError: the frame is no reply.
    """
    match wire.unpack(data):
        case [int(id_), True, result]:
            return Reply(id=id_, result=result)
        case [int(id_), False, error]:
            return Reply(id=id_, result=None, error=decode_error(error))
        case _:
            raise WireError("a reply is [id, true, result] or [id, false, error]")


# ---- errors -----------------------------------------------------------------------------------------


def _tree(root: type[SandboxError]) -> dict[str, type[SandboxError]]:
    found = {root.__name__: root}
    for each in root.__subclasses__():
        if each.__module__ in (errors.__name__, wire.__name__):
            found |= _tree(each)
    return found


ERRORS = _tree(SandboxError)
"""Every error of this package by its name: what is raised there is raised here."""


def encode_error(error: SandboxError) -> dict[str, Plain]:
    """An error as plain values, for a frame or for JSON."""
    name = next(each.__name__ for each in type(error).__mro__ if each.__name__ in ERRORS)
    plain: dict[str, Plain] = {"error": name, "message": str(error)}
    if isinstance(error, UnknownName):
        plain |= {"what": error.what, "name": error.name, "suggestions": list(error.suggestions)}
    return plain


def decode_error(plain: object) -> SandboxError:
    """The error in plain values; a `SandboxError` when its class is not known here."""
    if not isinstance(plain, dict):
        return SandboxError(f"the sandbox host sent no proper error: {plain!r:.100}")
    values = cast("dict[str, Any]", plain)
    message = str(values.get("message", "no message"))
    kind = ERRORS.get(str(values.get("error")), SandboxError)
    if kind is not UnknownName:
        return kind(message)
    error = UnknownName.__new__(UnknownName)
    SandboxError.__init__(error, message)
    error.what, error.name = str(values.get("what")), str(values.get("name"))
    error.suggestions = tuple(map(str, values.get("suggestions") or ()))
    return error


def error_as_reason(error: SandboxError) -> str:
    """An error as the reason of a close frame."""
    return f"{encode_error(error)['error']}: {error}"


def reason_as_error(reason: str) -> tuple[type[SandboxError], str]:
    """Class and message of the error in the reason of a close frame."""
    name, _, message = reason.partition(": ")
    return ERRORS.get(name, LeaseExpired), message or reason


# ---- handles ----------------------------------------------------------------------------------------


def encode_handle(handle: Handle) -> dict[str, Plain]:
    """A handle as plain values."""
    return {
        "target": handle.target,
        "sandbox_id": handle.sandbox_id,
        "kind": handle.kind,
        "capabilities": [str(each) for each in sorted(handle.capabilities)],
    }


def decode_handle(plain: object) -> Handle:
    """
    Raises:
        WireError: it is no handle.
    """
    match plain:
        case {
            "target": int(target),
            "sandbox_id": str(sandbox_id),
            "kind": str(kind),
            "capabilities": list(names),
        }:
            known = set(map(str, Capability))
            capabilities = frozenset(Capability(name) for name in cast("list[Any]", names) if name in known)
            return Handle(target=target, sandbox_id=sandbox_id, kind=kind, capabilities=capabilities)
        case _:
            raise WireError("a handle is {target, sandbox_id, kind, capabilities}")
