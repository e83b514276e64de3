"""What a task may say of its tools, and what of it its sandbox is told."""

import pytest

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tools.settings import tool_settings
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Task, VerifierSpec


def task(kind: str, **settings: JsonValue) -> Task:
    return Task(
        id="t",
        environment=EnvironmentSpec(kind=kind, settings=settings),
        verifier=VerifierSpec(name="expression"),
    )


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ([], "servers by name"),
        ({"a.b": {"command": "x"}}, "no name of a server"),
        ({"a": "x"}, "must be a server's settings"),
        ({"a": {}}, "command, or else url, must be text"),
        ({"a": {"command": "x", "argz": []}}, "did you mean args"),
        ({"a": {"command": "x", "url": "http://127.0.0.1/"}}, "unknown setting 'command'"),
        ({"a": {"command": "x", "args": "y"}}, "args must be a list"),
        ({"a": {"command": "x", "args": [1]}}, "each of args must be text"),
        ({"a": {"command": "x\0"}}, "must be text"),
        ({"a": {"command": "x", "env": {"B": 1}}}, "env must be text"),
        ({"a": {"command": "x", "timeout_s": 0}}, "timeout_s must be a positive number up to 40"),
        ({"a": {"command": "x", "timeout_s": True}}, "timeout_s"),
        ({"a": {"command": "x", "timeout_s": float("nan")}}, "timeout_s"),
        ({"a": {"url": "ftp://127.0.0.1/"}}, "http:// or https://"),
        ({"a": {"url": "http://127.0.0.1:99999/"}}, "is no address"),
        ({"a": {"url": "http://example.com/mcp"}}, "does not allow example.com:80"),
        ({"a": {"url": "http://127.0.0.1.example.com/mcp"}}, "does not allow"),
    ],
)
def test_what_is_refused(servers: JsonValue, said: str) -> None:
    with pytest.raises(InvalidTask, match=said) as caught:
        tool_settings(task("desktop", mcp_servers=servers))
    assert str(caught.value).startswith("task t: ")


@pytest.mark.parametrize(
    ("kind", "given", "rule", "told"),
    [
        ("desktop", {}, "deny", {}),
        ("desktop", {"network": ["a.com"]}, ("a.com",), {"network": "deny"}),
        ("desktop", {"network": "allow"}, "allow", {"network": "allow"}),
        ("android", {"network": "allow"}, "allow", {}),
        ("vm", {}, "deny", {}),
        ("vm", {"network": True}, "allow", {"network": True}),
        ("vm", {"network": False}, "deny", {"network": False}),
        ("vm", {"network": ["a.com"]}, ("a.com",), {"network": False}),
        ("browser", {}, "allow", {}),
        ("browser", {"network": ["a.com"]}, ("a.com",), {"network": ["a.com"]}),
    ],
)
def test_what_a_sandbox_is_told_of_the_network(
    kind: str, given: dict[str, JsonValue], rule: object, told: dict[str, JsonValue]
) -> None:
    settings, bare = tool_settings(task(kind, mcp_servers={"a": {"url": "http://[::1]:1/"}}, **given))
    assert settings.policy.rules == (rule,)
    assert dict(bare.environment.settings) == told
    assert [each.name for each in settings.servers] == ["a"]


def test_the_network_is_checked_for_every_kind() -> None:
    with pytest.raises(InvalidTask, match="network must be"):
        tool_settings(task("android", network="some"))
