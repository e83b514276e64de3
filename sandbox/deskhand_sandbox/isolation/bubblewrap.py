"""Programs in namespaces of their own, by bubblewrap: own files, processes, host name and user, no network.

A confinement shares the machine's kernel and its installed programs (read-only). It keeps an agent's commands
from the machine's files, processes and network; it is no virtual machine.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout
from deskhand_sandbox.isolation.limits import ControlGroup, Limits, resource_limits

HOME = "/home/agent"
USER = 1000
SHARED_ETC = ("alternatives", "ld.so.cache", "ssl/certs", "fonts", "terminfo", "localtime", "mime.types")
"""Of the machine's /etc: what programs need to find libraries, fonts and certificates, no more."""
LAYOUT = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


class Confinement:
    """Where programs run: home and temporary files lie in a folder on this machine."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        """
        Args:
            folder: empty.
            limits: what all programs inside may take together.
        """
        self.folder = folder
        self.limits = limits or Limits()
        self._group: ControlGroup | None = None
        self.variables: dict[str, str] = {}
        """What programs find in their environment besides the usual."""
        self._leader: int | None = None
        """Process whose namespaces programs share; None: each has its own."""

    @staticmethod
    @functools.cache
    def available() -> bool:
        """Whether bubblewrap is installed, and this machine lets it make namespaces; tried once."""
        if shutil.which("bwrap") is None:
            return False
        trial = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
        return subprocess.run(trial, capture_output=True, check=False).returncode == 0

    def prepare(self) -> None:
        """Make the folders and files a program finds, and what holds it to its limits.

        Raises:
            InfrastructureError: they cannot be made; says why, and nothing is left of them.
        """
        try:
            for name in ("home", "tmp", "etc"):
                (self.folder / name).mkdir()
            passwd = f"root:x:0:0:root:/root:/bin/sh\nagent:x:{USER}:{USER}:agent:{HOME}:/bin/bash\n"
            (self.folder / "etc/passwd").write_text(passwd)
            (self.folder / "etc/group").write_text(f"root:x:0:\nagent:x:{USER}:\n")
            (self.folder / "etc/hosts").write_text("127.0.0.1 localhost desk\n::1 localhost\n")
        except OSError as error:
            self.remove()
            raise InfrastructureError(f"{self.folder} cannot be written: {error.strerror}") from error
        self._group = ControlGroup.make(self.limits)

    @property
    def environment(self) -> dict[str, str]:
        """What a program inside sees; nothing of the machine's own."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": HOME,
            "USER": "agent",
            "LOGNAME": "agent",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PAGER": "cat",
            "GIT_PAGER": "cat",
            **self.variables,
        }

    def command(self, *program: str) -> list[str]:
        """The command line that runs a program inside, to be started with `environment`.

        The program dies with the process that starts it, or with the one whose namespaces it shares.
        """
        if self._leader is not None:
            return [*self._entering(), *_joining(self._leader), *self._limited(), *program]
        return [*self._entering(), *self._apart(), *self._limited(), *program]

    async def lead(self, *program: str, shown: Mapping[Path, str]) -> asyncio.subprocess.Process:
        """Start a program whose processes, network and sockets all later ones share, until it ends.

        Args:
            shown: files and folders of the machine it can read, and where it finds them.

        Returns:
            The process, its standard input and output as pipes.

        Raises:
            SandboxDied: it did not start; says why.
        """
        info, told = os.pipe()
        apart = self._apart(shown)
        apart[1:1] = ["--info-fd", str(told)]
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self._entering(),
                *apart,
                *self._limited(),
                *program,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=self.environment,
                pass_fds=(told,),
            )
        finally:
            os.close(told)
        try:
            with os.fdopen(info, "rb") as file:
                said = await asyncio.to_thread(file.read)
            self._leader = int(json.loads(said)["child-pid"])
        except (ValueError, KeyError):
            _, err = await process.communicate()
            raise SandboxDied(f"{program[0]} did not start: {err.decode(errors='replace').strip()}") from None
        except asyncio.CancelledError:
            process.kill()
            raise
        return process

    def _entering(self) -> list[str]:
        return self._group.entering() if self._group else []

    def _limited(self) -> list[str]:
        return resource_limits(self.limits, grouped=self._group is not None)

    def _apart(self, shown: Mapping[Path, str] | None = None) -> list[str]:
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--hostname", "desk"]
        words += ["--uid", str(USER), "--gid", str(USER), "--ro-bind", "/usr", "/usr"]
        for name in LAYOUT:
            place = Path("/", name)
            if place.is_symlink():
                words += ["--symlink", str(place.readlink()), str(place)]
            elif place.is_dir():
                words += ["--ro-bind", str(place), str(place)]
        for name in SHARED_ETC:
            words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        for name in ("passwd", "group", "hosts"):
            words += ["--ro-bind", str(self.folder / "etc" / name), f"/etc/{name}"]
        words += ["--proc", "/proc", "--dev", "/dev"]
        words += ["--bind", str(self.folder / "home"), HOME, "--bind", str(self.folder / "tmp"), "/tmp"]
        for source, target in (shown or {}).items():
            words += ["--ro-bind", str(source), target]
        return [*words, "--chdir", HOME]

    def remove(self) -> None:
        """End what still runs, and take the files away, those in folders their owner has locked too."""
        if self._group is not None:
            self._group.remove()
        for place, folders, _ in os.walk(self.folder):
            for name in folders:
                if not (inner := Path(place, name)).is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def run(
        self, program: Sequence[str], *, given: bytes = b"", timeout_s: float
    ) -> tuple[int, bytes, bytes]:
        """Run a program to its end, beside whatever else runs inside.

        Args:
            given: its standard input.

        Returns:
            Exit status, standard output, standard error.

        Raises:
            SandboxTimeout: it did not end in time, and was killed.
        """
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self.command(*program), stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment
        )
        try:
            async with asyncio.timeout(timeout_s):
                out, err = await process.communicate(given)
        except TimeoutError as error:
            raise SandboxTimeout(f"{program[0]} did not end in {timeout_s:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, out, err


def _joining(pid: int) -> list[str]:
    """Words that start a program in the namespaces of a process, without privileges there.

    nsenter waits for the program as a process of its own: it has to be told to die with that.
    """
    words = ["nsenter", "--target", str(pid), "--user", "--pid", "--mount", "--net", "--ipc", "--uts"]
    return [
        *words,
        "--preserve-credentials",
        "--",
        "setpriv",
        "--no-new-privs",
        "--pdeathsig",
        "KILL",
        "env",
        "--chdir",
        HOME,
    ]
