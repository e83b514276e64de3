"""Programs in namespaces of their own, by bubblewrap: own files, processes, host name and user, no network.

A confinement shares the machine's kernel and its installed programs (read-only). It keeps an agent's commands
from the machine's files, processes and network; it is no virtual machine.
"""

from __future__ import annotations

import asyncio
import fcntl
import functools
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout
from deskhand_sandbox.isolation.limits import END_S, ControlGroup, Limits, resource_limits
from deskhand_sandbox.isolation.pipes import read_pipe

HOME = "/home/agent"
USER = 1000
SHARED_ETC = ("alternatives", "ld.so.cache", "ssl/certs", "fonts", "terminfo", "localtime", "mime.types")
"""Of the machine's /etc: what programs need to find libraries, fonts and certificates, no more."""
FONT_CACHE = "/var/cache/fontconfig"
"""Without it every program that draws text reads every font of the machine at its start."""
_NS_GET_USERNS = 0xB701
"""Asks for the user namespace that a namespace belongs to (ioctl_ns(2))."""
_LAST_S = 0.5
"""How long output is waited for after a program has ended, and a leader after one that was killed."""
_EXIT_POLL_S = 0.02
_Talk: TypeAlias = "asyncio.Future[tuple[None, None, None]]"
"""All that goes through a program's pipes."""
OUTPUT_BYTES = 8 * 1024 * 1024
"""Of what a program prints, at most this much is kept."""
_PIECE_BYTES = 64 * 1024
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
        self._talks: set[_Talk] = set()
        """With programs under way, and with what those that ended have left running."""
        self._handle: int | None = None
        """On that very process: its number may come to be another's."""
        self._owner: int | None = None
        """User namespace that the leader's other ones belong to; the leader itself is in one below it."""

    @staticmethod
    @functools.cache
    def available() -> bool:
        """Whether bubblewrap is installed, and this machine lets it make namespaces; tried once."""
        if shutil.which("bwrap") is None:
            return False
        trial = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", *own_processes(), "--dev", "/dev", "true"]
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
            (self.folder / "etc/resolv.conf").touch()
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

        The program dies with the process that starts it, or with the one whose namespaces it shares. Start it
        in a session of its own: it could type into the terminal of ours.

        Raises:
            SandboxDied: that one has ended.
        """
        if self._leader is not None:
            self._check_led()
            return [*self._entering(), *self._joining(), *self._limited(), *program]
        return [*self._entering(), *self._apart(), *self._limited(), *program]

    async def lead(self, *program: str, shown: Mapping[Path, str]) -> asyncio.subprocess.Process:
        """Start a program whose processes, network and sockets all later ones share, until it ends.

        Args:
            shown: files and folders of the machine it can read, and where it finds them.

        Returns:
            The process, its standard input and output as pipes; what it complains of is kept (`complaint`).

        Raises:
            SandboxDied: it did not start; says why.
        """
        info, told = os.pipe()
        apart = self._apart(shown)
        apart[1:1] = ["--info-fd", str(told)]
        command = [*self._entering(), *apart, *self._limited(), *program]
        try:
            with self._complaints.open("wb") as complaints:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=complaints,
                    env=self.environment,
                    pass_fds=(told,),
                    start_new_session=True,
                )
        except BaseException:
            os.close(info)
            raise
        finally:
            os.close(told)
        try:
            said = await read_pipe(info)
            if not said:
                await process.wait()
            self._leader = int(json.loads(said)["child-pid"])
            self._handle = os.pidfd_open(self._leader)
            self._owner = _owner(self._leader)
        except BaseException as error:
            with suppress(ProcessLookupError):
                process.kill()
            if isinstance(error, OSError | ValueError | KeyError):
                raise SandboxDied(f"{program[0]} did not start: {self.complaint() or error}") from error
            raise
        return process

    @property
    def leader(self) -> int:
        """Process id, on this machine, of what all others share their namespaces with.

        Raises:
            SandboxDied: it has ended.
        """
        assert self._leader is not None
        self._check_led()
        return self._leader

    @property
    def owner(self) -> str:
        """The user namespace in which somebody has every right over the leader's network, as a file."""
        return f"/proc/{os.getpid()}/fd/{self._owner}"

    def complaint(self) -> str:
        """The last line the leader, or what was started for it, complained with; empty where it did not."""
        with suppress(OSError):
            lines = self._complaints.read_text(errors="replace").strip().splitlines()
            return lines[-1] if lines else ""
        return ""

    def name_server(self, address: str) -> None:
        """Have programs ask there for the addresses of hosts."""
        # written over in place: it is this very file that programs see
        (self.folder / "etc/resolv.conf").write_text(f"nameserver {address}\n")

    @property
    def _complaints(self) -> Path:
        return self.folder / "complaints"

    def _check_led(self) -> None:
        if self._handle is None or _ended(self._handle, 0):
            raise SandboxDied(f"what ran inside has ended: {self.complaint() or 'without a word'}")

    def _joining(self) -> list[str]:
        """Words that start a program in the leader's namespaces, without privileges there.

        nsenter waits for the program as a process of its own: it has to be told to die with that. Who is not
        root has to become the owner of the namespaces first.
        """
        spaces = ["--user", "--pid", "--mount", "--net", "--ipc", "--uts", "--preserve-credentials", "--"]
        words = ["nsenter", "--target", str(self._leader), *spaces]
        if os.geteuid() != 0:
            words = ["nsenter", f"--user={self.owner}", "--preserve-credentials", "--", *words]
        return [*words, "setpriv", "--no-new-privs", "--pdeathsig", "KILL", "env", "--chdir", HOME]

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
        words += ["--ro-bind-try", FONT_CACHE, FONT_CACHE]
        for name in ("passwd", "group", "hosts", "resolv.conf"):
            words += ["--ro-bind", str(self.folder / "etc" / name), f"/etc/{name}"]
        words += [*own_processes(), "--dev", "/dev"]
        words += ["--bind", str(self.folder / "home"), HOME, "--bind", str(self.folder / "tmp"), "/tmp"]
        for source, target in (shown or {}).items():
            words += ["--ro-bind", str(source), target]
        return [*words, "--chdir", HOME]

    def end(self) -> None:
        """End what the leader leads, and wait until it has ended."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            _ended(handle, END_S)  # all that share its namespaces end before it does
            os.close(handle)
        owner, self._owner = self._owner, None
        if owner is not None:
            os.close(owner)

    def remove(self) -> None:
        """End what still runs, and take the files away, those in folders their owner has locked too."""
        self.end()
        if self._group is not None:
            self._group.remove()
        for place, folders, _ in os.walk(self.folder):
            for name in folders:
                if not (inner := Path(place, name)).is_symlink():
                    with suppress(OSError):
                        inner.chmod(0o700)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def run(
        self, program: Sequence[str], *, given: bytes = b"", timeout_s: float
    ) -> tuple[int, bytes, bytes]:
        """Run a program to its end, beside whatever else runs inside.

        Args:
            given: its standard input.

        Returns:
            Exit status, standard output, standard error; of longer ones the beginning. What it leaves running
            is not waited for.

        Raises:
            SandboxTimeout: it did not end in time, and was killed.
            SandboxDied: the leader has ended, and the program with it.
            InfrastructureError: it did not start; says why.
        """
        command, pipe = self.command(*program), asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=self.environment,
                start_new_session=True,
            )
        except OSError as error:  # its words are longer than the kernel takes, or the machine is full
            raise InfrastructureError(f"{program[0]} did not start: {error.strerror}") from error
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        out, err = bytearray(), bytearray()
        talk = asyncio.gather(
            _feed(process.stdin, given), _keep(process.stdout, out), _keep(process.stderr, err)
        )
        # what it leaves running may go on to print, and is not to wait for a reader
        self._talks.add(talk)
        talk.add_done_callback(self._over)
        try:
            async with asyncio.timeout(timeout_s):
                await _exit(process, talk)
                if (await asyncio.wait([talk], timeout=_LAST_S))[0]:
                    talk.result()
        except TimeoutError as error:
            raise SandboxTimeout(f"{program[0]} did not end in {timeout_s:g} s") from error
        finally:
            if process.returncode is None:
                talk.cancel()
                process.kill()
                await _reaped(process)
        if self._leader is not None:
            if process.returncode == -signal.SIGKILL and self._handle is not None:
                # what the leader leads is killed a moment before it is gone itself
                await asyncio.to_thread(_ended, self._handle, _LAST_S)
            self._check_led()
        return process.returncode or 0, bytes(out), bytes(err)

    def _over(self, talk: _Talk) -> None:
        self._talks.discard(talk)
        if not talk.cancelled():
            # of a program that was killed, or left running, nobody asks
            talk.exception()


async def _feed(pipe: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(ConnectionError):  # it has read enough
        pipe.write(data)
        await pipe.drain()
    pipe.close()


async def _keep(pipe: asyncio.StreamReader, kept: bytearray) -> None:
    """Read all that is printed, and keep the beginning."""
    while piece := await pipe.read(_PIECE_BYTES):
        kept += piece[: OUTPUT_BYTES - len(kept)]


async def _exit(process: asyncio.subprocess.Process, talk: _Talk) -> None:
    """Wait for the end of a process alone: asyncio's own way waits for whoever else has its pipes, too."""
    while process.returncode is None and not talk.done():
        await asyncio.wait([talk], timeout=_EXIT_POLL_S)
    # where the talk is over nobody has them any more
    await process.wait()


async def _reaped(process: asyncio.subprocess.Process) -> None:
    """The same of one that was killed while others have its pipes."""
    while process.returncode is None:  # noqa: ASYNC110  nothing else tells
        await asyncio.sleep(_EXIT_POLL_S)


def own_processes() -> list[str]:
    """Words that show programs their own processes at /proc, and the kernel's settings for reading alone.

    bubblewrap leaves most of them open to who is root on this machine, whatever the user is called inside.
    """
    words = ["--proc", "/proc"]
    for place in sorted(Path("/proc").iterdir()):
        if place.name.isdigit() or place.is_symlink():
            continue
        if place.is_dir() or (place.exists() and place.stat().st_mode & 0o222):
            words += ["--ro-bind", str(place), str(place)]
    return words


def _ended(handle: int, timeout_s: float) -> bool:
    """Whether a process has ended, or does within a time."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))


def _owner(pid: int) -> int:
    """The user namespace that a process's network belongs to."""
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return fcntl.ioctl(network, _NS_GET_USERNS)
    finally:
        os.close(network)
