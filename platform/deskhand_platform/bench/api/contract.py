"""The API held to its own description: requests drawn from it by schemathesis; no reading without a token.

A request that fits the description may still be refused, for a name that there is not or a task that is over:
that is no break. Everything else is: a server error, a status, type or body that is not described, a body
taken that does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx

from deskhand_platform.api.description import OPEN

TIMEOUT_S = 60.0


def contract_breaks(
    description: dict[str, Any], url: str, token: str, *, examples: int, only: str = ""
) -> tuple[list[str], list[str], int]:
    """Ask every operation, with what fits its description and with what does not.

    Args:
        description: the OpenAPI document.
        examples: requests of either kind for each operation, at most.
        only: part of a path.

    Returns:
        Server errors, breaks of the contract, and how many requests were made.
    """
    import schemathesis
    from schemathesis.checks import CHECKS

    left_out = ("positive_data_acceptance", "ignored_auth", "use_after_free", "ensure_resource_availability")
    checks = [CHECKS.get_one(name) for name in CHECKS.get_all_names() if name not in left_out]
    headers = {"Authorization": f"Bearer {token}"}
    made, errors, breaks = 0, list[str](), list[str]()
    for case in _cases(schemathesis.openapi.from_dict(description), examples, only):
        if case.path.endswith("/events"):
            case.query = {**(case.query or {}), "follow": "false"}
        made += 1
        try:
            case.call_and_validate(base_url=url, headers=headers, timeout=TIMEOUT_S, checks=checks)
        except schemathesis.errors.SchemathesisError:
            raise
        except BaseExceptionGroup as group:
            for error in group.exceptions:
                _sort(error, case.operation.label, errors, breaks)
        except AssertionError as error:
            _sort(error, case.operation.label, errors, breaks)
        except OSError as error:  # an answer that breaks off
            errors.append(f"{case.operation.label}: {error}")
    return errors, breaks, made


def _cases(schema: Any, examples: int, only: str) -> Iterator[Any]:
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode

    quiet = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],  # pyright: ignore[reportArgumentType]
    )
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in GenerationMode:
            if only not in operation.path:
                continue
            try:
                yield from _drawn(operation.as_strategy(generation_mode=mode), quiet)
            except Unsatisfiable:
                continue  # nothing about this operation can be wrong


def _drawn(cases: Any, quiet: Any) -> list[Any]:
    from hypothesis import given

    drawn: list[Any] = []

    def draw(case: Any) -> None:
        drawn.append(case)

    quiet(given(cases)(draw))()
    return drawn


def _sort(error: BaseException, label: str, errors: list[str], breaks: list[str]) -> None:
    kind = type(error).__name__
    said = f"{label}: {kind}: {' '.join(str(error).split())[:400]}"
    if kind == "ServerError" and getattr(error, "status_code", None) == 503:
        return  # no fault: what the request needs, such as the sandbox host, is not up
    if kind == "ServerError":
        errors.append(said)
    # whatever stands in a query is a text, and a list of them may have one
    elif not (kind == "AcceptedNegativeData" and " in query" in said):
        breaks.append(said)


async def open_reads(description: dict[str, Any], url: str) -> list[str]:
    """Operations that answer who has no token with anything but 401."""
    found: list[str] = []
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=TIMEOUT_S) as http:
        for path, operations in description["paths"].items():
            if path in OPEN:
                continue
            for method in operations:
                answer = await http.request(method, re.sub(r"\{[^}]*\}", "1", path), params={"follow": False})
                if answer.status_code != 401:
                    found.append(f"{method.upper()} {path}: {answer.status_code}")
    return found
