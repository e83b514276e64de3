"""A whole platform in this process: lock, store, children, rounds, API. `serve` and `run` stand on it."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
import time
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from deskhand_flywheel.store import Store
from deskhand_platform import database_lock, lock
from deskhand_platform.accounts.opening import Accounts, FirstAdmin, open_accounts
from deskhand_platform.alarms.watch import AlarmWatch
from deskhand_platform.api.app import create_app
from deskhand_platform.errors import PortInUse, SettingsError
from deskhand_platform.evaluations.desk import EvaluationRunner
from deskhand_platform.jobs.desk import JobRunner
from deskhand_platform.live import LiveSandboxes
from deskhand_platform.loans import Loans
from deskhand_platform.proposals import Proposals
from deskhand_platform.queue import TaskQueue
from deskhand_platform.retention import Retention
from deskhand_platform.rounds.book import RoundBook
from deskhand_platform.rounds.conductor import RoundConductor
from deskhand_platform.rounds.controls import RoundControls
from deskhand_platform.rounds.phases import Phases
from deskhand_platform.rounds.promoted import PromotedPolicies
from deskhand_platform.rounds.scheduler import Scheduler
from deskhand_platform.rounds.schedules import Schedules
from deskhand_platform.services import Hosting, Rounds, Services
from deskhand_platform.settings import Settings, exported
from deskhand_platform.supervisor import StartHost, Supervisor
from deskhand_platform.talkers import Talkers
from deskhand_platform.transfers import Transfers
from deskhand_platform.webhooks.sending import Sender
from deskhand_sandbox.errors import InvalidPool
from deskhand_sandbox.host import HostSettings, start_host
from deskhand_sandbox.tasks.setup.downloads import Downloads


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """A platform that is up."""

    url: str
    first_admin: FirstAdmin | None
    """At the first start of this home only: to be printed once."""
    services: Services


class _Server(uvicorn.Server):
    """Signals are the supervisor's: children have to be stopped in order."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the kernel choose.

    Raises:
        PortInUse: somebody listens there already, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(256)
    except (OSError, OverflowError) as error:
        listener.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise PortInUse(
                f"port {port} on {host} is in use; choose another with --port, or --port 0 for any free one"
            ) from error
        raise PortInUse(f"cannot listen on {host} port {port}: {error}; choose another --port") from error
    return listener


def sandbox_host(settings: Settings) -> StartHost:
    """How this platform starts its sandbox host.

    Raises:
        SettingsError: a backend refuses the settings of a pool; says which and why.
    """
    told = settings.sandbox
    try:
        pools = told.lending.pools_of(told.lent, most=told.max_sandboxes)
    except InvalidPool as error:
        raise SettingsError(f"setting sandbox.pools: {error}") from error
    host = HostSettings(
        kinds=pools, terms=told.terms, deadlines=told.deadlines, state_folder=settings.home / "sandboxes"
    )
    return lambda: start_host(host)


def _logs_of_children(settings: Settings) -> list[Path]:
    return [settings.home / name for name in ("worker.log", "chat.log", "sandboxes/host.log")]


@asynccontextmanager
async def platform(
    settings: Settings, start_host: StartHost | None = None, *, take_over: bool = False
) -> AsyncGenerator[Platform]:
    """Bring a platform up; at the block's end runs stop with their state safe, then everything else.

    Args:
        take_over: have a platform that works the same database stop.

    Raises:
        HomeInUse: another platform serves the home.
        DatabaseInUse: another one works the database, or has taken it over, which ends the block.
        PortInUse: the address is taken.
        ChildFailed: the sandbox host does not start.
        SettingsError: a backend refuses the settings of a pool.
        StoreError: the store cannot be opened.
    """
    with lock.hold(settings.home) as held, exported(settings):
        listener = listen(settings.host, settings.port)
        try:
            async with (
                await Store.open(settings.db_url, settings.blobs_url) as store,
                database_lock.hold(store.database, settings.home, take_over=take_over),
            ):
                accounts, first_admin = await open_accounts(store.database, settings)
                supervisor = Supervisor(settings, store, start_host or sandbox_host(settings))
                async with supervisor.running():
                    book = RoundBook(store.database)
                    phases = Phases(settings, store, book, supervisor)
                    controls = RoundControls(store.database)
                    conductor = RoundConductor(phases, book, controls, settings.workflows_url)
                    services = services_over(settings, store, accounts, rounds=conductor, hosting=supervisor)
                    services.transfers.clear()
                    scheduler = Scheduler(services.schedules, book, conductor, store)
                    sender = Sender(store, settings.webhooks)
                    async with (
                        _rounds(conductor, scheduler),
                        sender.running(),
                        services.talkers.running(),
                        EvaluationRunner(settings, supervisor).running(),
                        JobRunner(settings, supervisor).running(),
                        AlarmWatch(settings, store).running(),
                        Retention(
                            store.database, settings.retention, Downloads(), _logs_of_children(settings)
                        ).running(),
                        serve_api(services, listener),
                    ):
                        url = address_of(listener)
                        held.announce(url)
                        yield Platform(url=url, first_admin=first_admin, services=services)
        finally:
            listener.close()


def services_over(
    settings: Settings, store: Store, accounts: Accounts, *, rounds: Rounds, hosting: Hosting
) -> Services:
    """What the API works with, over an open store."""
    live = LiveSandboxes(settings.home)
    return Services(
        settings=settings,
        accounts=accounts,
        proposals=Proposals(store),
        live=live,
        loans=Loans(live, accounts.quotas),
        store=store,
        queue=TaskQueue(store.database, accounts.quotas),
        book=RoundBook(store.database),
        rounds=rounds,
        promoted=PromotedPolicies(store),
        schedules=Schedules(store.database),
        hosting=hosting,
        talkers=Talkers(settings, store),
        transfers=Transfers(settings),
        stopping=asyncio.Event(),
        started_at_s=time.time(),
    )


def address_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds the socket."""
    host, port = listener.getsockname()[:2]
    named = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{named}:{port}"


@asynccontextmanager
async def _rounds(conductor: RoundConductor, scheduler: Scheduler) -> AsyncGenerator[None]:
    looking: asyncio.Task[None] | None = None
    try:
        await conductor.launch()
        looking = asyncio.create_task(scheduler.run())
        yield
    finally:
        if looking is not None:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        await conductor.stop()


@asynccontextmanager
async def serve_api(services: Services, listener: socket.socket) -> AsyncGenerator[None]:
    """Answer on the socket for the length of the block."""
    async with answering(create_app(services), listener, proxies=map(str, services.settings.proxies)):
        try:
            yield
        finally:
            services.stopping.set()
            await services.loans.close()
            await services.live.close()


@asynccontextmanager
async def answering(
    app: Any, listener: socket.socket, *, proxies: Iterable[str] = ()
) -> AsyncGenerator[None]:
    """Serve an ASGI application on the socket for the length of the block.

    Args:
        proxies: networks whose word is taken for where a request comes from.
    """
    trusted = [*proxies]
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        # uvicorn itself would believe every program of this machine
        proxy_headers=bool(trusted),
        forwarded_allow_ips=trusted,
        timeout_graceful_shutdown=5,
        ws_per_message_deflate=False,  # pictures are compressed already
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.up.wait()
        with _settled():
            yield
    finally:
        server.should_exit = True
        await serving


@contextmanager
def _settled() -> Generator[None]:
    """Keep the garbage collector from what is there already: to look through all the libraries takes 100 ms,
    and whoever asks meanwhile waits."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
