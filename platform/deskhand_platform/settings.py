"""The settings tree: defaults, then HOME/config.yaml, then the environment (`DESKHAND_WORKER__SLOTS`).

Each package has its own settings record; this tree composes them and says where everything lies.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, Field, IPvAnyNetwork, ValidationError
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as SourceError

from deskhand_platform.errors import SettingsError
from deskhand_platform.sandbox_settings import SandboxSettings
from deskhand_platform.settings_sources import File, Variables, split
from deskhand_sandbox.errors import near_ones
from deskhand_sandbox.logs import Form

DEFAULT_PORT = 8420
PREFIX = "DESKHAND_"
OTHER_VARIABLES = frozenset({
    "debug", "engine_token", "osworld_kind", "python", "sandbox_mark", "sandbox_token", "talk_token", "tiny",
    "token",
})  # fmt: skip
"""Of this package and the others, after the prefix: read by themselves, not settings."""
OF_KUBERNETES = re.compile(r"_(service_host|service_port|port)(_[a-z0-9_]+)?$")
"""What it tells every container of a service whose name begins with "deskhand"."""


class WorkerSettings(BaseModel):
    """The process that works submitted tasks."""

    model_config = {"extra": "forbid", "frozen": True}

    slots: Annotated[int, Field(ge=1, le=256)] = 2
    """Episodes at once."""
    attempts: Annotated[int, Field(ge=1, le=20)] = 3
    """Times a task is begun before infrastructure failures, or deaths of its worker, are taken for final."""
    claim_s: Annotated[float, Field(gt=0.2)] = 20.0
    """A claim not renewed for so long is up for another worker."""
    poll_s: Annotated[float, Field(gt=0.0)] = 0.5
    """How often an idle worker looks at the queue."""
    models: Annotated[int, Field(ge=1, le=64)] = 4
    """Local policies kept in memory, and as many process reward models; more where more are in use."""
    decision_s: Annotated[float, Field(gt=0.0)] = 120.0
    """Longest wait for one decision; longer where the policy's own `patience_s` and `timeout_s` allow it."""
    reset_s: Annotated[float, Field(gt=0.0)] = 90.0
    """Longest a task's start state may take, beyond what its own set-up steps may."""
    act_s: Annotated[float, Field(gt=0.0)] = 45.0
    """Longest an action may take, beyond the time it asks for itself."""
    verify_s: Annotated[float, Field(gt=0.0)] = 45.0
    """Longest a verdict may take, beyond what the verifier's own steps may."""


class RoundSettings(BaseModel):
    """Training rounds."""

    model_config = {"extra": "forbid", "frozen": True}

    crashes: Annotated[int, Field(ge=1)] = 4
    """Times in a row a run may die without getting anything done before its round fails."""
    run_module: str = "deskhand_trainer.run"
    """Module that does a run, by the contract of `deskhand_trainer.runs`."""
    stop_grace_s: Annotated[float, Field(gt=0.0)] = 30.0
    """How long a run asked to stop may take to put its state away before it is killed."""


class AuthSettings(BaseModel):
    """Signing in."""

    model_config = {"extra": "forbid", "frozen": True}

    session_s: Annotated[float, Field(ge=60)] = 7 * 86400.0
    """How long a browser that is not used stays signed in."""
    tries: Annotated[int, Field(ge=1)] = 10
    """Tries to sign in from one address that may go wrong within `tries_window_s`; three times as many by one
    name."""
    tries_window_s: Annotated[float, Field(gt=0)] = 300.0


class QuotaSettings(BaseModel):
    """What each owner may have at once unless their account says otherwise; administrators have no limits."""

    model_config = {"extra": "forbid", "frozen": True}

    tasks: Annotated[int, Field(ge=0)] | None = 20_000
    """Tasks queued and running; None: any number, here as below."""
    sandboxes: Annotated[int, Field(ge=0)] | None = 16
    """Sandboxes: tasks beyond it wait in the queue."""
    bytes: Annotated[int, Field(ge=0)] | None = 50_000_000_000
    """Bytes of their episodes' pictures, as they came, and of the accessibility trees and outputs beside
    them."""


class WebhookSettings(BaseModel):
    """Where results of tasks and alarms are sent to."""

    model_config = {"extra": "forbid", "frozen": True}

    networks: tuple[IPvAnyNetwork, ...] = ()
    """Networks a webhook may be in beside the public ones, whoever's it is, e.g. ["10.1.0.0/16"];
    ["127.0.0.0/8", "::1/128"] lets it be on this machine."""
    per_owner: Annotated[int, Field(ge=0)] = 20
    """Webhooks that one owner may have."""
    attempts: Annotated[int, Field(ge=1, le=100)] = 12
    """Times something is sent before it is given up."""
    first_pause_s: Annotated[float, Field(gt=0.0)] = 2.0
    """Before the second time; each pause is twice the one before."""
    longest_pause_s: Annotated[float, Field(gt=0.0)] = 3600.0
    timeout_s: Annotated[float, Field(gt=0.0)] = 10.0
    """For a receiver's answer."""


class ChatSettings(BaseModel):
    """Policies behind `/v1/chat/completions`."""

    model_config = {"extra": "forbid", "frozen": True}

    policies: Annotated[int, Field(ge=1, le=64)] = 2
    """That answer at once, each in a process with its own copy in memory."""
    idle_s: Annotated[float, Field(gt=0.0)] = 600.0
    """One that nobody asked for so long is ended; the next request starts it again."""
    start_s: Annotated[float, Field(gt=0.0)] = 300.0
    """How long one may take to load."""


class AlarmSettings(BaseModel):
    """When to raise which alarm."""

    model_config = {"extra": "forbid", "frozen": True}

    every_s: Annotated[float, Field(gt=0.0)] = 20.0
    """How often everything is looked at."""
    quiet_s: Annotated[float, Field(gt=0.0)] = 600.0
    """No episode for so long while there is work for them: "no_rollouts"."""
    failure_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Of the newest episodes of the last hour, the share that something broke: "failure_rate"."""
    failure_episodes: Annotated[int, Field(ge=1)] = 20
    """Fewer than so many episodes say nothing of it."""
    disk_free_gb: Annotated[float, Field(ge=0)] = 2.0
    """Less than so much (10⁹ bytes) free where the home folder lies: "disk_low"."""
    reward_share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Success of a run's last five iterations below this share of its best five: "reward_collapse"."""
    entropy_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Entropy of a run's last five iterations below this share of its first five: "entropy_collapse"."""


class RetentionSettings(BaseModel):
    """How long the platform keeps what only tells of things that are over."""

    model_config = {"extra": "forbid", "frozen": True}

    task_events_s: Annotated[float, Field(ge=3600)] | None = 30 * 86400.0
    """Changes of tasks, for streams that go on where they broke off; None: for ever, here as below."""
    deliveries_s: Annotated[float, Field(ge=3600)] | None = 30 * 86400.0
    """What webhooks were sent, once it has arrived or been given up."""
    downloads_s: Annotated[float, Field(ge=86400)] | None = 30 * 86400.0
    """Files that the set-up and the verifiers of tasks fetched, from when a task last used them."""
    every_s: Annotated[float, Field(gt=0)] = 3600.0
    """How often it is looked what is older."""


class JobSettings(BaseModel):
    """Work on the store that is asked for over HTTP: checks, collections, scoring."""

    model_config = {"extra": "forbid", "frozen": True}

    waiting: Annotated[int, Field(ge=1)] = 100
    """Jobs that have not ended, and evaluations by themselves; more are refused."""
    spares: tuple[str, ...] = ()
    """URLs of blob stores, such as backups, that a check may be told to take lost blobs from."""
    endpoints: tuple[str, ...] = ()
    """Base URLs of servers that models may be asked at, with the platform's own keys, e.g.
    "https://api.openai.com/v1": by jobs, and by tasks and rounds that name one."""


class TransferSettings(BaseModel):
    """Episodes that go out and come in over HTTP, as archives."""

    model_config = {"extra": "forbid", "frozen": True}

    at_once: Annotated[int, Field(ge=1, le=64)] = 2
    """Exports and imports under way; each needs room for a file of episodes, and memory for one episode. And
    replays that are made, beside them."""
    export_steps: Annotated[int, Field(ge=1)] = 250_000
    """Steps of all episodes in one archive."""
    replay_bytes: Annotated[int, Field(ge=1)] = 128_000_000
    """Of the pictures of one replay, a page with all of them in it; in memory it takes some times as much."""
    import_bytes: Annotated[int, Field(ge=1)] = 8_000_000_000
    """Of an archive that is sent."""
    unpacked_bytes: Annotated[int, Field(ge=1)] = 16_000_000_000
    """Of what it unpacks to."""
    unpacked_files: Annotated[int, Field(ge=1)] = 1_000_000


class Settings(BaseSettings):
    """Where the platform lives and how much of the machine it takes."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
    )

    home: Path = Path("~/.deskhand")
    """Folder of the database, blobs, runs and the token."""
    host: str = "127.0.0.1"
    """Address to listen on; anything but loopback is a decision to be made knowingly."""
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    """0 lets the kernel choose."""
    proxies: tuple[IPvAnyNetwork, ...] = ()
    """Networks of reverse proxies, e.g. ["127.0.0.1/32"]: what they say of where a request comes from, and
    of TLS, is believed (X-Forwarded-For, X-Forwarded-Proto)."""
    hosts: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]+$")], ...] = ()
    """Names by which people reach it beside this machine's own and `host`, e.g. ["deskhand.example.com"] of a
    reverse proxy; requests by other names, and from pages of other sites, are refused."""
    database: str | None = None
    """SQLAlchemy URL, of a database that no other platform uses; None: SQLite in the home folder."""
    blobs: str | None = None
    """obstore URL; None: a folder in the home folder."""
    near_frames: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share of a screen's pixels that may differ from the one kept before for it not to be kept, in submitted
    tasks, collecting and evaluations; 0 loses nothing. None: only equal bytes are kept once."""
    logs: Form = "text"
    """How processes write their logs: for a person, or one JSON object a line, with ids to join them by."""
    url: str | None = None
    """Where the command line finds the platform; None: this home's own."""
    tasks: Annotated[tuple[str, ...], NoDecode, split(os.pathsep)] = ()
    """Files and folders of tasks of one's own; as a variable, with ":" between them."""
    downloads: str | None = None
    """Folder of what tasks download when they are set up; None: in the user's cache folder."""
    download_hosts: Annotated[tuple[str, ...], NoDecode, split(",")] = ()
    """Hosts on this machine or in its own networks that such files may come from; as a variable, with commas
    between them."""
    chromium: str | None = None
    """Path of the Chromium of browsers and of simulated devices; None: the one on PATH."""
    adb: str | None = None
    """Path of adb; None: the one on PATH, else the SDK's."""
    sandbox: SandboxSettings = SandboxSettings()
    worker: WorkerSettings = WorkerSettings()
    rounds: RoundSettings = RoundSettings()
    auth: AuthSettings = AuthSettings()
    quotas: QuotaSettings = QuotaSettings()
    webhooks: WebhookSettings = WebhookSettings()
    chat: ChatSettings = ChatSettings()
    alarms: AlarmSettings = AlarmSettings()
    retention: RetentionSettings = RetentionSettings()
    transfers: TransferSettings = TransferSettings()
    jobs: JobSettings = JobSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments beat the environment, the environment beats the file."""
        home = Path(os.environ.get("DESKHAND_HOME", "~/.deskhand")).expanduser()
        return init_settings, Variables(settings_cls), File(settings_cls, home / "config.yaml")

    @property
    def variables(self) -> dict[str, str]:
        """The settings that rooms below read from the environment, as they stand there."""
        told = {
            "TASKS": os.pathsep.join(str(Path(each).expanduser()) for each in self.tasks),
            "DOWNLOADS": self.downloads and str(Path(self.downloads).expanduser()),
            "DOWNLOAD_HOSTS": ",".join(self.download_hosts),
            "CHROMIUM": self.chromium,
            "ADB": self.adb,
        }
        return {f"{PREFIX}{name}": value for name, value in told.items() if value}

    @property
    def db_url(self) -> str:
        """SQLAlchemy URL of the store."""
        return self.database or f"sqlite+aiosqlite:///{self.home / 'deskhand.db'}"

    @property
    def blobs_url(self) -> str:
        """obstore URL of the blob store."""
        return self.blobs or f"file://{self.home / 'blobs'}"

    @property
    def workflows_url(self) -> str:
        """URL of the database in which DBOS keeps its own tables."""
        return f"sqlite:///{self.home / 'workflows.db'}"

    @property
    def jobs_folder(self) -> Path:
        """Folder of the jobs, one folder each."""
        return self.home / "jobs"

    @property
    def suites(self) -> Path:
        """Folder of the suites of tasks that people put together."""
        return self.home / "suites"

    @property
    def runs(self) -> Path:
        """Folder of the training runs, one folder each."""
        return self.home / "runs"


def load_settings(**overrides: object) -> Settings:
    """Read the tree and make the home folder's path absolute; the folder itself is created private.

    Raises:
        SettingsError: a value, a variable or the YAML file is refused, or the home folder cannot be made.
    """
    settings = read_settings(**overrides)
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"the home folder {settings.home} cannot be made: {error.strerror}; set DESKHAND_HOME"
        ) from error
    return settings


def read_settings(**overrides: object) -> Settings:
    """The same without a folder made.

    Raises:
        SettingsError: a value, a variable or the YAML file is refused.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    _check_variables()
    try:
        settings = Settings(**given)  # pyright: ignore[reportArgumentType]  # checked by pydantic
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        unknown = first["type"] in ("extra_forbidden", "unexpected_keyword_argument")
        hint = _hint(first["loc"]) if unknown else first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"setting {where}: {hint}") from error
    except (SourceError, yaml.YAMLError) as error:
        raise SettingsError(f"the settings cannot be read: {error}") from error
    return settings.model_copy(update={"home": settings.home.expanduser().resolve()})


@contextmanager
def exported(settings: Settings) -> Generator[None]:
    """Have this process, and those it starts, find in the environment what the file of settings says."""
    before = {name: os.environ.get(name) for name in settings.variables}
    os.environ.update(settings.variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _check_variables() -> None:
    """Refuse a variable that looks like a setting and is none: it would set nothing, and say nothing."""
    for name in os.environ:
        if not name.startswith(PREFIX):
            continue
        part, nested, _ = name.removeprefix(PREFIX).lower().partition("__")
        if part in Settings.model_fields:
            continue
        if nested:
            raise SettingsError(f"{name} sets nothing: {_hint((part,))}")
        if part in OTHER_VARIABLES or OF_KUBERNETES.search(part):
            continue
        if near := difflib.get_close_matches(part, _variables(), n=1, cutoff=0.7):
            meant = PREFIX + near[0].upper()
            raise SettingsError(f"{name} sets nothing: no such variable; did you mean {meant}?")


def _variables() -> list[str]:
    """Every variable there is, after the prefix."""
    found = [*OTHER_VARIABLES]
    for name, field in Settings.model_fields.items():
        found.append(name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += [f"{name}__{inner}" for inner in field.annotation.model_fields]
    return found


def _hint(where: Sequence[int | str]) -> str:
    """What there is in place of a setting that is none."""
    known: Any = Settings
    for part in where[:-1]:
        known = known.model_fields[part].annotation
    plain = dataclasses.is_dataclass(known)
    names = [each.name for each in dataclasses.fields(known)] if plain else known.model_fields
    return f"no such setting{near_ones(str(where[-1]), names)[0]}"
