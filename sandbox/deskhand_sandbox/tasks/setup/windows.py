"""Windows of a guest's screen, by wmctrl, as OSWorld's own set-up finds them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from deskhand_sandbox.errors import BackendMissing, InfrastructureError
from deskhand_sandbox.tasks.guest import Guest

WAIT_S = 30.0
"""How long a window may take to appear."""

ALSO_CALLED = {"Google Chrome": "Chromium"}
"""Titles of programs that take the place of OSWorld's."""

_WAIT = """for i in $(seq %d); do
  id=$(%s) && [ -n "$id" ] && { wmctrl -i %s "$id"; exit 0; }
  sleep 0.05
done
exit 9
"""
_MARKS = "set -o pipefail; wmctrl -lp | awk '{ print $1 \"/\" $3 }'"
_ANOTHER = """known=%s
for i in $(seq %d); do
  still=' '
  for mark in $(%s); do
    case "$known" in *" $mark "*) still="$still$mark ";; *) exit 0;; esac
  done
  known=$still
  sleep 0.05
done
exit 9
"""


async def titles(guest: Guest) -> list[str]:
    """The titles of all windows, "" where one has none.

    Raises:
        BackendMissing: the guest has no wmctrl.
    """
    ran = await guest.run("wmctrl -l")
    _there(ran.code)
    return ["".join(line.split(None, 3)[3:]) for line in ran.out.splitlines()]


async def marks(guest: Guest) -> list[str]:
    """What tells the windows apart that are there: a number alone may be given again to another program's.

    Raises:
        BackendMissing: the guest has no wmctrl.
    """
    ran = await guest.run(_MARKS)
    _there(ran.code)
    return ran.out.split()


async def activate(guest: Guest, name: str, *, strict: bool, by_class: bool, wait_s: float = WAIT_S) -> bool:
    """Bring a window to the front once it is there; False where it did not appear."""
    return await _act(guest, "-a", name, strict, by_class, wait_s)


async def close(guest: Guest, name: str, *, strict: bool, by_class: bool, wait_s: float = 1.0) -> bool:
    """Ask a window to close; False where there is none."""
    return await _act(guest, "-c", name, strict, by_class, wait_s)


async def wait_for_another(guest: Guest, before: Sequence[str], wait_s: float = WAIT_S) -> None:
    """Wait until there is a window that was not among those before, of which some may go meanwhile.

    Args:
        before: their `marks`.

    Raises:
        InfrastructureError: none appeared.
    """
    loop = _ANOTHER % (shlex.quote(f" {' '.join(before)} "), int(wait_s / 0.05), _MARKS)
    if (await guest.run(loop, timeout_s=wait_s + 30)).code:
        raise InfrastructureError(f"no window appeared in {wait_s:g} s")


async def _act(guest: Guest, do: str, name: str, strict: bool, by_class: bool, wait_s: float) -> bool:
    other = shlex.quote(ALSO_CALLED.get(name, name))
    names = f"wanted={shlex.quote(name)} other={other}"
    find = f"wmctrl -lx | {names} awk {shlex.quote(_finder(strict, by_class))}"
    script = _WAIT % (max(1, int(wait_s / 0.05)), find, do)
    ran = await guest.run(f"command -v wmctrl >/dev/null || exit 127\n{script}", timeout_s=wait_s + 30)
    _there(ran.code)
    return ran.code == 0


def _finder(strict: bool, by_class: bool) -> str:
    """An awk program that prints the id of the first window that is meant.

    A line of `wmctrl -lx` is: id, desktop, class, machine, title.
    """
    title = '{ title = $0; for (i = 0; i < 4; i++) sub(/^[^ ]+ +/, "", title); '
    subject = "$3" if by_class else "title"
    each = f"{subject} == %s" if strict else f"index(tolower({subject}), tolower(%s))"
    held = " || ".join(each % name for name in ('ENVIRON["wanted"]', 'ENVIRON["other"]'))
    return title + f"if ({held}) {{ print $1; exit }} }}"


def _there(code: int) -> None:
    if code == 127:
        raise BackendMissing("window steps need wmctrl in the sandbox: run `make setup`")
