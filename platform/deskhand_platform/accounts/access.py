"""Who may do what: every route with the scope it needs, every role with its scopes.

A route that is not in `ROUTES` is refused to everybody. A new one takes one line here: its scope, and what
of it those may have who see only their own (role `submitter`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SCOPES: dict[str, str] = {
    "tasks:read": "see tasks and the catalog",
    "tasks:write": "submit, cancel and retry tasks",
    "trajectories:read": "see episodes, their pictures, scores and marks",
    "annotations:write": "mark steps, write notes, answer proposals, take over episodes that run",
    "rounds:read": "see rounds, their figures and events",
    "rounds:write": "start and stop rounds",
    "policies:read": "see policies",
    "policies:write": "bring policies in, promote them and roll back",
    "policies:use": "ask a policy for completions",
    "datasets:read": "see datasets and evaluations",
    "datasets:write": "make datasets and evaluations, bring episodes in",
    "store:write": "check and mend the store, drop what may go, keep its rules of what people should look at",
    "sandboxes:read": "see sandboxes and their live screens",
    "sandboxes:write": "lease sandboxes, and work in them",
    "metrics:read": "read the figures for Prometheus, and alarms",
    "admin": "users, everybody's tokens, quotas, settings and the audit log",
}


class Role(StrEnum):
    """What a person is here for."""

    ADMIN = "admin"
    OPERATOR = "operator"
    """Runs rounds and whatever else goes on."""
    RESEARCHER = "researcher"
    """Submits, reads and marks everything; starts no rounds."""
    ANNOTATOR = "annotator"
    """Reads everything and marks it."""
    SUBMITTER = "submitter"
    """Submits tasks, and sees those and their episodes alone."""


_READS = frozenset(scope for scope in SCOPES if scope.endswith(":read"))
ROLES: dict[Role, frozenset[str]] = {
    Role.ADMIN: frozenset(SCOPES),
    Role.OPERATOR: frozenset(SCOPES) - {"admin"},
    Role.RESEARCHER: _READS | {"tasks:write", "annotations:write", "datasets:write", "policies:use"},
    Role.ANNOTATOR: _READS | {"annotations:write"},
    Role.SUBMITTER: frozenset({"tasks:read", "tasks:write", "trajectories:read", "policies:read"}),
}


class Own(StrEnum):
    """What of a route is for those who see only their own."""

    NOTHING = "nothing"
    ALL = "all"
    """It holds nothing of anybody's."""
    LISTED = "listed"
    """The route itself looks at whose things it lists or makes (`Who.only`)."""
    TASK = "task"
    """`{id}` has to be a task of theirs."""
    TRAJECTORY = "trajectory"
    """`{id}` has to be an episode of theirs."""
    WEBHOOK = "webhook"
    """`{id}` has to be a webhook of theirs."""

    @property
    def of_id(self) -> bool:
        """Whether it depends on whose `{id}` is."""
        return self in (Own.TASK, Own.TRAJECTORY, Own.WEBHOOK)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a route asks of whoever calls it."""

    scope: str | None
    """None: whoever is signed in."""
    own: Own = Own.NOTHING
    unlimited: bool = False
    """Not with a token that is for some scopes only, or for a time."""


OPEN = frozenset({"GET /healthz", "GET /readyz", "POST /login", "POST /logout", "GET /{path}"})
"""Routes for anybody: health, signing in and out, and the files of the page."""

ROUTES: dict[str, Rule] = {
    "GET /metrics": Rule("metrics:read"),
    "GET /v1/info": Rule(None, Own.ALL),
    "GET /v1/openapi.json": Rule(None, Own.ALL),
    # tasks
    "POST /v1/tasks": Rule("tasks:write", Own.LISTED),
    "POST /v1/tasks/batch": Rule("tasks:write", Own.LISTED),
    "GET /v1/tasks": Rule("tasks:read", Own.LISTED),
    "GET /v1/tasks/{id}": Rule("tasks:read", Own.TASK),
    "DELETE /v1/tasks/{id}": Rule("tasks:write", Own.TASK),
    "POST /v1/tasks/{id}/retry": Rule("tasks:write", Own.TASK),
    "GET /v1/tasks/events": Rule("tasks:read", Own.LISTED),
    "POST /v1/tasks/preview": Rule("tasks:write", Own.ALL),
    "GET /v1/catalog": Rule("tasks:read", Own.ALL),
    "GET /v1/webhooks": Rule("tasks:read", Own.LISTED),
    "POST /v1/webhooks": Rule("tasks:write", Own.LISTED, unlimited=True),
    "GET /v1/webhooks/{id}": Rule("tasks:read", Own.WEBHOOK),
    "DELETE /v1/webhooks/{id}": Rule("tasks:write", Own.WEBHOOK),
    "GET /v1/webhooks/{id}/deliveries": Rule("tasks:read", Own.WEBHOOK),
    "POST /v1/webhooks/{id}/deliveries/{delivery_id}/retry": Rule("tasks:write", Own.WEBHOOK),
    # rounds
    "GET /v1/presets": Rule("rounds:read"),
    "POST /v1/rounds": Rule("rounds:write"),
    "GET /v1/rounds": Rule("rounds:read"),
    "GET /v1/rounds/{id}": Rule("rounds:read"),
    "GET /v1/rounds/form": Rule("rounds:read"),
    "POST /v1/rounds/{id}/cancel": Rule("rounds:write"),
    "POST /v1/rounds/{id}/pause": Rule("rounds:write"),
    "POST /v1/rounds/{id}/resume": Rule("rounds:write"),
    "POST /v1/rounds/{id}/clone": Rule("rounds:write"),
    "POST /v1/rounds/{id}/retry": Rule("rounds:write"),
    "GET /v1/rounds/{id}/phases/{name}/log": Rule("rounds:read"),
    "GET /v1/schedules": Rule("rounds:read"),
    "POST /v1/schedules": Rule("rounds:write"),
    "PUT /v1/schedules/{id}": Rule("rounds:write"),
    "DELETE /v1/schedules/{id}": Rule("rounds:write"),
    "GET /v1/events": Rule("rounds:read"),
    # episodes; a picture's address is its content's hash, which nobody has who has not seen it
    "GET /v1/trajectories": Rule("trajectories:read", Own.LISTED),
    "GET /v1/trajectories/{id}": Rule("trajectories:read", Own.TRAJECTORY),
    "GET /v1/trajectories/{id}/steps": Rule("trajectories:read", Own.TRAJECTORY),
    "GET /v1/trajectories/{id}/scores": Rule("trajectories:read", Own.TRAJECTORY),
    "GET /v1/trajectories/{id}/replay.html": Rule("trajectories:read", Own.TRAJECTORY),
    "GET /v1/trajectories/{id}/replay.txt": Rule("trajectories:read", Own.TRAJECTORY),
    "GET /v1/trajectories/{id}/steps/{index}/inside": Rule("trajectories:read", Own.TRAJECTORY),
    "GET /v1/trajectories/{id}/curves": Rule("trajectories:read", Own.TRAJECTORY),
    "POST /v1/trajectories/{id}/branch": Rule("tasks:write", Own.TRAJECTORY),
    "GET /v1/images/{digest}": Rule("trajectories:read", Own.ALL),
    "GET /v1/export": Rule("trajectories:read", Own.LISTED),
    "POST /v1/import": Rule("datasets:write"),
    # people's marks
    "GET /v1/trajectories/{id}/annotations": Rule("trajectories:read", Own.TRAJECTORY),
    "PUT /v1/trajectories/{id}/steps/{index}/marks/{annotator}": Rule("annotations:write"),
    "DELETE /v1/trajectories/{id}/steps/{index}/marks/{annotator}": Rule("annotations:write"),
    "PUT /v1/trajectories/{id}/marks/{annotator}": Rule("annotations:write"),
    "DELETE /v1/trajectories/{id}/marks/{annotator}": Rule("annotations:write"),
    "POST /v1/trajectories/{id}/steps/{index}/notes": Rule("annotations:write"),
    "PUT /v1/notes/{id}": Rule("annotations:write"),
    "DELETE /v1/notes/{id}": Rule("annotations:write"),
    "GET /v1/review-queue": Rule("trajectories:read"),
    "POST /v1/review-queue": Rule("annotations:write"),
    "GET /v1/review-rules": Rule("trajectories:read"),
    "PUT /v1/review-rules": Rule("store:write"),
    "GET /v1/agreement": Rule("trajectories:read"),
    "GET /v1/proposals": Rule("trajectories:read"),
    "GET /v1/proposals/{id}": Rule("trajectories:read"),
    "POST /v1/proposals/{id}/answer": Rule("annotations:write"),
    "GET /v1/trajectories/{id}/takeover": Rule("trajectories:read"),
    "PUT /v1/trajectories/{id}/takeover": Rule("annotations:write"),
    "DELETE /v1/trajectories/{id}/takeover": Rule("annotations:write"),
    "POST /v1/trajectories/{id}/takeover/actions": Rule("annotations:write"),
    # sandboxes
    "GET /v1/sandboxes": Rule("sandboxes:read"),
    "GET /v1/sandboxes/{id}": Rule("sandboxes:read"),
    "GET /v1/sandboxes/{id}/screen.jpg": Rule("sandboxes:read"),
    "GET /v1/sandboxes/{id}/screen.mjpeg": Rule("sandboxes:read"),
    "POST /v1/sandboxes": Rule("sandboxes:write"),
    "DELETE /v1/sandboxes/{id}": Rule("sandboxes:write"),
    "POST /v1/sandboxes/{id}/reset": Rule("sandboxes:write"),
    "POST /v1/sandboxes/{id}/actions": Rule("sandboxes:write"),
    "GET /v1/sandboxes/{id}/observation": Rule("sandboxes:write"),
    "WS /v1/sandboxes/{id}/vnc": Rule("sandboxes:read"),
    # policies
    "GET /v1/policies": Rule("policies:read", Own.ALL),
    "POST /v1/policies": Rule("policies:write"),
    "GET /v1/policies/{id}": Rule("policies:read", Own.ALL),
    "GET /v1/policies/{id}/files": Rule("policies:use"),
    "GET /v1/promotions": Rule("policies:read"),
    "POST /v1/promotions": Rule("policies:write"),
    "GET /v1/models": Rule("policies:read", Own.ALL),
    "GET /v1/models/{id}": Rule("policies:read", Own.ALL),
    "POST /v1/chat/completions": Rule("policies:use"),
    # data
    "GET /v1/datasets": Rule("datasets:read"),
    "GET /v1/datasets/selection": Rule("datasets:read"),
    "POST /v1/datasets/preview": Rule("datasets:read"),
    "POST /v1/datasets": Rule("datasets:write"),
    "GET /v1/datasets/{name}": Rule("datasets:read"),
    "GET /v1/lineage": Rule("datasets:read"),
    "GET /v1/routing": Rule("datasets:read"),
    "GET /v1/scorers": Rule("datasets:read"),
    "GET /v1/calibrations": Rule("datasets:read"),
    "GET /v1/storage": Rule("datasets:read"),
    # a check or a collection takes `store:write` as well: see `JOBS`
    "GET /v1/jobs": Rule("datasets:read"),
    "POST /v1/jobs": Rule("datasets:write"),
    "GET /v1/jobs/{id}": Rule("datasets:read"),
    "GET /v1/jobs/{id}/log": Rule("datasets:read"),
    "POST /v1/jobs/{id}/cancel": Rule("datasets:write"),
    "GET /v1/evaluations": Rule("datasets:read"),
    "POST /v1/evaluations": Rule("datasets:write"),
    "GET /v1/evaluations/suites": Rule("datasets:read"),
    "PUT /v1/evaluations/suites/{name}": Rule("datasets:write"),
    "DELETE /v1/evaluations/suites/{name}": Rule("datasets:write"),
    "GET /v1/evaluations/compare": Rule("datasets:read"),
    "GET /v1/evaluations/{id}": Rule("datasets:read"),
    "POST /v1/evaluations/{id}/cancel": Rule("datasets:write"),
    # how it goes
    "GET /v1/overview": Rule("rounds:read"),
    "GET /v1/alarms": Rule("metrics:read"),
    "POST /v1/alarms/{id}/acknowledge": Rule("rounds:write"),
    # accounts
    "PUT /v1/password": Rule(None, Own.ALL, unlimited=True),
    "GET /v1/tokens": Rule(None, Own.LISTED),
    "POST /v1/tokens": Rule(None, Own.LISTED, unlimited=True),
    "DELETE /v1/tokens/{id}": Rule(None, Own.LISTED, unlimited=True),
    "GET /v1/quotas": Rule(None, Own.LISTED),
    "PUT /v1/quotas/{name}": Rule("admin"),
    "GET /v1/users": Rule("admin"),
    "POST /v1/users": Rule("admin", unlimited=True),
    "PATCH /v1/users/{name}": Rule("admin", unlimited=True),
    "PUT /v1/users/{name}/password": Rule("admin", unlimited=True),
    "GET /v1/audit": Rule("admin"),
    "GET /v1/settings": Rule("admin"),
}


JOBS = {"fsck": "store:write", "gc": "store:write"}
"""What starting or cancelling a job of a kind takes beside the scope of the route."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """Who asks."""

    name: str
    role: Role
    scopes: frozenset[str]
    """What they may do now: their role's, less what their token leaves out."""
    token_id: str | None
    """Of the API token they came with, or began their session with; None: by password."""
    limited: bool = False
    """The token is for a part of it or for a time: it is not to be traded for more."""

    @property
    def only(self) -> str | None:
        """The owner whose tasks and episodes they may see; None: everybody's."""
        return self.name if self.role is Role.SUBMITTER else None

    def may(self, rule: Rule) -> bool:
        """Whether a route of the rule is for them; whose `{id}` it is, is another question."""
        has = rule.scope is None or rule.scope in self.scopes
        if rule.unlimited and self.limited:
            return False
        return has and (self.only is None or rule.own is not Own.NOTHING)
