from __future__ import annotations

import typing
from dataclasses import fields
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskhand_sandbox import errors
from deskhand_sandbox import types as words
from deskhand_sandbox.base import Capability
from deskhand_sandbox.errors import SandboxError, UnknownName
from deskhand_sandbox.host import frames, wire
from deskhand_sandbox.host.frames import Handle
from deskhand_sandbox.host.wire import RECORDS, WireError
from deskhand_sandbox.types import Click, Image, Observation, Task

TEXT = st.text(st.characters(codec=None), max_size=20)
"""Any text a page can hand out: lone surrogates too."""
INTEGERS = st.integers(-(2**80), 2**80)
NUMBERS = st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
BY_ANNOTATION: dict[str, st.SearchStrategy[Any]] = {
    "int": INTEGERS,
    "float": NUMBERS,
    "bool": st.booleans(),
    "str": TEXT,
    "int | None": st.none() | INTEGERS,
    "str | None": st.none() | TEXT,
    "bytes | None": st.none() | st.binary(max_size=50),
    "Button": st.sampled_from(typing.get_args(words.Button)),
    "Point": st.tuples(INTEGERS, INTEGERS),
    "Region | None": st.none() | st.tuples(INTEGERS, INTEGERS, INTEGERS, INTEGERS),
    "tuple[Point, ...]": st.lists(st.tuples(INTEGERS, INTEGERS), max_size=4).map(tuple),
    "tuple[str, ...]": st.lists(TEXT, max_size=4).map(tuple),
    "Mapping[str, JsonValue]": st.dictionaries(TEXT, JSON, max_size=3),
    "Mapping[str, str]": st.dictionaries(TEXT, TEXT, max_size=3),
    "Literal['png', 'jpeg', 'webp']": st.sampled_from(["png", "jpeg", "webp"]),
    "Literal['back', 'forward', 'reload', 'home']": st.sampled_from(["back", "forward", "reload", "home"]),
    "Literal['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']": st.sampled_from(["GET", "POST", "HEAD"]),
    "Literal['open', 'focus', 'close']": st.sampled_from(["open", "focus", "close"]),
}


def instances(record: type[Any]) -> st.SearchStrategy[Any]:
    """Any value of that record."""
    made = {
        field.name: instances(RECORDS[field.type]) if field.type in RECORDS else BY_ANNOTATION[field.type]
        for field in fields(record)
    }
    return st.builds(record, **made)


def across(record: object) -> Any:
    return wire.decode(wire.unpack(wire.pack(wire.encode(record))))


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_comes_back_as_it_went(name: str) -> None:
    @settings(max_examples=60)
    @given(instances(RECORDS[name]))
    def check(record: Any) -> None:
        back = across(record)
        assert back == record
        assert type(back) is type(record)
        if isinstance(record, Image):  # not part of equality
            assert back.data == record.data

    check()


def test_every_action_observation_and_task_can_travel() -> None:
    everything = {*typing.get_args(words.DeviceAction), *typing.get_args(words.ControlAction)}
    everything |= {words.Observation, words.Start, words.Task, words.Outcome, words.StepReward, words.Image}
    assert everything <= set(RECORDS.values())


def test_a_screenshot_travels_as_it_is() -> None:
    data = bytes(range(256)) * 400
    image = Image(digest="0" * 64, format="png", width_px=1280, height_px=720, data=data)
    packed = wire.pack(wire.encode(Observation(screenshot=image, captured_at_s=1.5, settled_ms=2.0)))
    assert data in packed
    assert len(packed) < len(data) + 300


@pytest.mark.parametrize(
    ("plain", "says"),
    [
        (None, "a record is a map"),
        ([], "a record is a map"),
        ({}, "not None"),
        ({"": "Klick", "x": 1, "y": 1}, "not 'Klick'"),
        ({"": ["Click"]}, "expected"),
        ({"": "Click", "x": 1}, "Click.y is missing"),
        ({"": "Click", "x": 1.5, "y": 1}, "Click.x must be a whole number"),
        ({"": "Click", "x": True, "y": 1}, "Click.x must be a whole number"),
        ({"": "Click", "x": 1, "y": 1, "button": "wheel"}, "Click.button must be one of left, middle, right"),
        ({"": "Click", "x": 1, "y": 1, "button": []}, "Click.button must be one of"),
        ({"": "Click", "x": 1, "y": 1, "z": 1}, "Click has no field 'z'"),
        ({"": "Click", "x": 1, "y": 1, 3: 1}, "Click has no field 3"),
        ({"": "Drag", "path": [[1, 2], [3]]}, "Drag.path must be a list of points"),
        ({"": "Drag", "path": [1]}, "Drag.path must be a list"),
        ({"": "Press", "keys": ["a", None]}, "Press.keys must be text"),
        ({"": "Wait", "seconds": "long"}, "Wait.seconds must be a number"),
        ({"": "Wait", "seconds": 10**400}, "Wait.seconds must be a number"),
        ({"": "CallTool", "name": "x", "arguments": {"a": b"bytes"}}, "which JSON has not"),
        ({"": "CallTool", "name": "x", "arguments": {1: 2}}, "arguments must be text"),
        ({"": "Task", "id": "x", "environment": {"": "Limits"}}, "expected EnvironmentSpec"),
    ],
)
def test_what_is_no_record_is_refused_and_the_field_named(plain: object, says: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.decode(plain)
    assert says in str(caught.value)


def test_only_the_records_expected_are_welcome() -> None:
    with pytest.raises(WireError, match="expected Task, not 'Click'"):
        wire.decode(wire.encode(Click(x=1, y=2)), Task)


def test_what_cannot_travel_is_refused_at_the_sender() -> None:
    with pytest.raises(WireError, match="a object cannot be sent"):
        wire.encode(object())
    with pytest.raises(WireError, match="cannot be sent"):
        wire.encode(words.CallTool(name="x", arguments={"a": {1, 2}}))  # type: ignore[dict-item]
    with pytest.raises(WireError, match="must be text"):
        wire.encode(words.CallTool(name="x", arguments={1: 2}))  # type: ignore[dict-item]
    nested: Any = []
    for _ in range(100):
        nested = [nested]
    with pytest.raises(WireError, match="nested deeper"):
        wire.encode(words.CallTool(name="x", arguments={"a": nested}))


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for read in (frames.read_request, frames.read_reply):
        try:
            read(data)
        except WireError as error:
            assert str(error)


@settings(max_examples=300)
@given(JSON)
def test_no_values_break_the_decoder(value: Any) -> None:
    for read in (wire.decode, frames.decode_handle):
        try:
            read(value)
        except WireError as error:
            assert str(error)
    assert isinstance(frames.decode_error(value), SandboxError)


@settings(max_examples=100)
@given(JSON)
def test_json_values_come_back_as_they_went(value: Any) -> None:
    assert wire.decode_json(wire.unpack(wire.pack(wire.encode_json(value)))) == value


def test_bytes_nested_to_break_the_reader_are_refused() -> None:
    with pytest.raises(WireError):
        wire.unpack(b"\x91" * 100_000)
    with pytest.raises(WireError, match="nested deeper"):
        wire.decode_json(wire.unpack(b"\x91" * 900 + b"\x01"))
    with pytest.raises(WireError, match="extension"):
        wire.unpack(msgpack.packb(msgpack.ExtType(1, b"9" * 5000)))
    with pytest.raises(WireError):
        wire.unpack(msgpack.packb(msgpack.ExtType(1, b"not a number")))
    with pytest.raises(WireError):
        wire.unpack(msgpack.packb(msgpack.ExtType(7, b"")))


def every_error() -> list[type[SandboxError]]:
    return [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, SandboxError) and each is not UnknownName
    ]


@pytest.mark.parametrize("kind", every_error())
def test_every_error_is_raised_as_the_class_it_was(kind: type[SandboxError]) -> None:
    reply = frames.read_reply(frames.pack_error(7, kind("what was wrong")))
    assert reply.id == 7
    assert type(reply.error) is kind
    assert str(reply.error) == "what was wrong"
    assert frames.reason_as_error(frames.error_as_reason(kind("why: this"))) == (kind, "why: this")


def test_an_unknown_name_keeps_its_suggestions() -> None:
    error = UnknownName("task", "miniwob/clik-test", ["miniwob/click-test", "miniwob/login-user"])
    back = frames.read_reply(frames.pack_error(1, error)).error
    assert isinstance(back, UnknownName)
    assert (str(back), back.suggestions) == (str(error), error.suggestions)
    assert (back.what, back.name) == ("task", "miniwob/clik-test")


def test_an_error_of_ones_own_travels_as_what_it_derives_from() -> None:
    class Mine(errors.SandboxDied):
        """Not known at the other end."""

    assert type(frames.read_reply(frames.pack_error(1, Mine("gone"))).error) is errors.SandboxDied


def test_a_handle_comes_back_as_it_went_and_unknown_skills_are_dropped() -> None:
    skills = frozenset({Capability.FORK, Capability.EVALUATE})
    handle = Handle(target=3, sandbox_id="a", kind="tiny", capabilities=skills)
    plain = frames.encode_handle(handle)
    assert frames.decode_handle(plain) == handle
    assert frames.decode_handle(plain | {"capabilities": ["fork", "fly"]}).capabilities == {Capability.FORK}
