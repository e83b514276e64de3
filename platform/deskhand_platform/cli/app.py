"""`deskhand`: mounts the commands, and turns every expected failure into one sentence and an exit status."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated

import httpx
import typer

from deskhand_agent.errors import AgentError
from deskhand_flywheel.errors import (
    FlywheelError,
    FolderTaken,
    InvalidReviewRules,
    InvalidRoutes,
    InvalidRubric,
    UnknownFormat,
)
from deskhand_flywheel.errors import NotFound as NotStored
from deskhand_platform.cli import (
    accounts,
    alarms,
    annotation,
    benches,
    branching,
    choosing,
    doctor,
    endpoint,
    evaluations,
    flywheel,
    holding,
    jobs,
    judging,
    leased,
    prm,
    records,
    remarks,
    rounds,
    run,
    sandboxes,
    serve,
    standing,
    tasks,
    training,
    upkeep,
    webhooks,
)
from deskhand_platform.cli.console import complain
from deskhand_platform.client import ApiError, ClientError, NotSignedIn
from deskhand_platform.errors import InvalidField, NotFound, PlatformError, SettingsError
from deskhand_platform.settings import exported, read_settings
from deskhand_sandbox.errors import InvalidPool, SandboxError, UnknownName
from deskhand_trainer.errors import ConfigError, TrainerError

app = typer.Typer(
    name="deskhand",
    help="Computers for an AI agent to work at, and a training loop that makes the agent better at it.",
    epilog="Examples:  deskhand run   ·   deskhand tasks list --held-out   ·   deskhand replay ID --html",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for part in (serve, run, standing, records, training, benches, branching, doctor):
    part.register(app)
app.add_typer(tasks.app, name="tasks")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(sandboxes.app, name="sandbox")
app.add_typer(rounds.app, name="rounds")
app.add_typer(evaluations.app, name="evaluations")
app.add_typer(alarms.app, name="alarms")
app.add_typer(records.trajectories, name="trajectories")
app.add_typer(records.policies, name="policies")
app.add_typer(records.policies, name="policy", hidden=True)  # as one would say of one
app.add_typer(flywheel.app, name="flywheel")
app.add_typer(annotation.people, name="annotators")
app.add_typer(accounts.people, name="users")
app.add_typer(accounts.tokens, name="tokens")
app.add_typer(prm.app, name="prm")
app.add_typer(jobs.app, name="jobs")
tasks.register(app)
endpoint.register(records.policies)
upkeep.register(flywheel.app)
judging.register(flywheel.app)
annotation.register(flywheel.app)
choosing.register(flywheel.app)
holding.register(flywheel.app)
remarks.register(records.trajectories)
leased.register(sandboxes.app)

USAGE = (
    NotFound,
    NotStored,
    FolderTaken,
    InvalidField,
    SettingsError,
    InvalidPool,
    UnknownName,
    UnknownFormat,
    InvalidRoutes,
    InvalidReviewRules,
    InvalidRubric,
    ConfigError,
)
FAILURES = (
    PlatformError,
    ClientError,
    FlywheelError,
    SandboxError,
    AgentError,
    TrainerError,
    httpx.HTTPError,
    OSError,
)


def tell_version(asked: bool) -> None:
    """Print which Deskhand this is, and end."""
    if asked:
        typer.echo(f"deskhand {version('deskhand')}")
        raise typer.Exit


@app.callback()
def everywhere(
    context: typer.Context,
    told: Annotated[
        bool,
        typer.Option("--version", callback=tell_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Read what stands before a command, and have the environment agree with the settings."""
    with suppress(SettingsError):  # a command that goes by them says so itself
        context.with_resource(exported(read_settings()))


def main() -> None:
    """Run the command line; exit status 2 for what was asked wrongly, 1 for what went wrong."""
    try:
        app()
    except FAILURES as error:
        if os.environ.get("DESKHAND_DEBUG"):
            raise
        complain((str(error) or type(error).__name__) + advice(error))
        sys.exit(status_of(error))
    except UnicodeEncodeError:
        odd = next((word for word in sys.argv[1:] if word.encode(errors="ignore").decode() != word), None)
        if odd is None:
            raise
        complain(f"{odd!r} is no UTF-8, as all but names of files has to be")
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(130)


def advice(error: BaseException) -> str:
    """What to do about a failure that does not say so itself."""
    if isinstance(error, NotSignedIn):
        return "; set DESKHAND_TOKEN to one of that platform's: its account page makes them"
    return ""


def status_of(error: BaseException) -> int:
    """Exit status of a failure."""
    if isinstance(error, ApiError):
        return 2 if error.status in (404, 422) else 1
    return 2 if isinstance(error, USAGE) else 1


if __name__ == "__main__":
    main()
