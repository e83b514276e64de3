"""Oracles for tasks of typing into fields."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from deskhand_agent.errors import OracleError
from deskhand_agent.policies.scripted.page import Page
from deskhand_sandbox.types import Action

_ORDINALS = {"1st": 1, "2nd": 2, "3rd": 3}


def _form(wanted: Callable[[Page], Awaitable[dict[str, str]]]) -> Callable[[Page], Awaitable[Action]]:
    """Fill the fields (selector to text) in order, then press the button."""

    async def oracle(page: Page) -> Action:
        for selector, text in (await wanted(page)).items():
            action = await page.fill(selector, text)
            if action is not None:
                return action
        return await page.click("#subbtn")

    return oracle


async def _quoted(page: Page) -> dict[str, str]:
    (text,) = page.said(r'Enter "(.*)" into')
    return {"#tt": text}


async def _in_case(page: Page) -> dict[str, str]:
    text, case = page.said(r'Type "(.*)" in all (upper|lower) case')
    return {"#tt": text.upper() if case == "upper" else text.lower()}


async def _password_twice(page: Page) -> dict[str, str]:
    (password,) = page.said(r'password "(.*)" into')
    return {"#password": password, "#verify": password}


async def _login(page: Page) -> dict[str, str]:
    user, password = page.said(r'username "(.*)" and the password "(.*)" into')
    return {"#username": user, "#password": password}


async def _arithmetic(page: Page) -> dict[str, str]:
    problem = (await page.one("#math-problem")).text
    match = re.fullmatch(r"(\d) ([-+x]) (\d) =", problem)
    if match is None:
        raise OracleError(f"{problem!r} is not a problem of two digits")
    left, right = int(match[1]), int(match[3])
    answer = {"+": left + right, "-": left - right, "x": left * right}[match[2]]
    return {"#math-answer": str(answer)}


async def _algebra(page: Page) -> dict[str, str]:
    problem = (await page.one("#math-problem")).text
    match = re.fullmatch(r"(x|\d) ([-+]) (x|\d) = (\d+)", problem)
    if match is None:
        raise OracleError(f"{problem!r} is not an equation in x")
    left, sign, right, result = match.groups()
    if left == "x":
        answer = int(result) - int(right) if sign == "+" else int(result) + int(right)
    else:
        answer = int(result) - int(left) if sign == "+" else int(left) - int(result)
    return {"#math-answer": str(answer)}


async def _captcha(page: Page) -> dict[str, str]:
    return {"#tt": (await page.one("#captcha")).text}


async def _word(page: Page) -> dict[str, str]:
    (number,) = page.said(r"Find the (\d+)(?:st|nd|rd|th) word")
    words = (await page.one("#area p")).text.split()
    return {"#answer-input": re.sub(r"[^a-zA-Z]", "", words[int(number) - 1])}


async def _focus(page: Page) -> Action:
    return await page.click("#tt")


async def _focus_nth(page: Page) -> Action:
    (ordinal,) = page.said(r"the (1st|2nd|3rd) input")
    return await page.click(f"#tt{_ORDINALS[ordinal]}")


ORACLES = {
    "focus-text": _focus,
    "focus-text-2": _focus_nth,
    "enter-text": _form(_quoted),
    "enter-text-dynamic": _form(_quoted),
    "enter-text-2": _form(_in_case),
    "enter-password": _form(_password_twice),
    "login-user": _form(_login),
    "simple-arithmetic": _form(_arithmetic),
    "simple-algebra": _form(_algebra),
    "text-transform": _form(_captcha),
    "find-word": _form(_word),
}
