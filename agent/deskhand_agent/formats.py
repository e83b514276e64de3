"""How a model is told to reply, how it said its past turns, and what its replies mean.

"deskhand" tells any model our own grammar. The others have the form of UI-TARS's prompts (arXiv 2501.12326;
github.com/bytedance/UI-TARS), for its models: format, action space, notes and task are sections of the first
user message, there is no system message, and replies are `Thought: …` and `Action: …`. The sentences are
ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import GRAMMAR, format_reply, mend_reply, parse_reply
from deskhand_agent.grammar.mending import SYNTACTIC, Repair, mended
from deskhand_agent.types import Context, Decision, Fault, Step, fault_of
from deskhand_sandbox.dialects import read, write_all
from deskhand_sandbox.dialects.calls import CallSyntaxError, scan_calls
from deskhand_sandbox.dialects.coordinates import Frame
from deskhand_sandbox.dialects.ui_tars import RESIZED
from deskhand_sandbox.dialects.ui_tars.reading import escaped, thought_and_calls
from deskhand_sandbox.errors import InvalidAction, UnknownName
from deskhand_sandbox.types import Action, Answer, Finish, Observation

OURS = "deskhand"


class Format(Protocol):
    """A way to ask for actions."""

    system: str
    """The system message; none when empty."""
    coordinates: CoordinateSystem

    def told(self, context: Context) -> Context:
        """The context with the instruction in the words of the format."""
        ...

    def reply(self, step: Step, said: str) -> str:
        """How the model said a past turn, or would have; `said` is how our grammar does."""
        ...

    def answering(self, answer: str) -> str:
        """The reply that says an answer, and no thought."""
        ...

    def decision(
        self, text: str, seen: Observation, cost: Mapping[str, float], *, mending: bool = True
    ) -> Decision:
        """What a reply means; a void turn where it holds no action.

        Args:
            mending: near misses are read as what they are near to; off where a model learns by its replies.
        """
        ...


def find_format(name: str, coordinates: CoordinateSystem | None) -> Format:
    """A format by name.

    Args:
        coordinates: the model's frame; None: the usual one of the format.

    Raises:
        UnknownName: there is none of this name.
    """
    if name == OURS:
        return DeskhandFormat(coordinates or CoordinateSystem())
    if name not in _UI_TARS:
        raise UnknownName("format", name, (OURS, *_UI_TARS))
    return UiTarsFormat(name, coordinates or _UI_TARS[name])


class DeskhandFormat:
    """Our own grammar, told in the system message."""

    def __init__(self, coordinates: CoordinateSystem) -> None:
        self.system, self.coordinates = system_prompt(coordinates), coordinates

    def told(self, context: Context) -> Context:
        return context

    def reply(self, step: Step, said: str) -> str:
        return said

    def answering(self, answer: str) -> str:
        return format_reply(None, (Answer(text=answer),))

    def decision(
        self, text: str, seen: Observation, cost: Mapping[str, float], *, mending: bool = True
    ) -> Decision:
        try:
            reply = mend_reply(text) if mending else parse_reply(text)
        except ActionSyntaxError as error:
            return Decision(actions=(), text=text, error=str(error), fault=fault_of(error), cost=cost)
        frame = self.coordinates.frame(seen.size_px)
        actions = tuple(frame.action_to_screen(action) for action in reply.actions)
        return Decision(actions=actions, text=text, thought=reply.thought, repairs=reply.repairs, cost=cost)


class UiTarsFormat:
    """A spelling of UI-TARS's grammar."""

    system = ""

    def __init__(self, dialect: str, coordinates: CoordinateSystem) -> None:
        self.coordinates = coordinates
        self._dialect = dialect

    def told(self, context: Context) -> Context:
        return replace(context, instruction=_prompt(self._dialect, context.instruction))

    def reply(self, step: Step, said: str) -> str:
        decision, frame = step.decision, self.coordinates.frame(step.observation.size_px)
        try:
            if self._read(decision.text, frame) == decision.actions:
                return decision.text
        except InvalidAction:
            pass
        try:
            calls = "\n\n".join(str(call) for call in write_all(self._dialect, decision.actions, frame))
        except InvalidAction:
            calls = ""
        if not calls:
            return said
        return f"Thought: {decision.thought or ''}\nAction: {calls}"

    def answering(self, answer: str) -> str:
        # it has one call for an answer and for the end; the frame of a screen of any size: it has no place
        [call] = write_all(self._dialect, (Finish(text=answer),), self.coordinates.frame((1, 1)))
        return f"Thought: \nAction: {call}"

    def decision(
        self, text: str, seen: Observation, cost: Mapping[str, float], *, mending: bool = True
    ) -> Decision:
        frame = self.coordinates.frame(seen.size_px)
        repairs: tuple[Repair, ...] = ()
        try:
            actions = self._read(text, frame)
        except InvalidAction as error:
            near = _NEAR if mending else ()
            found = mended(text, lambda changed: self._read(changed, frame), near)
            if found is None:
                fault = Fault.SYNTAX if isinstance(error, CallSyntaxError) else Fault.UNKNOWN_ACTION
                return Decision(actions=(), text=text, error=str(error), fault=fault, cost=cost)
            actions, repairs = found
        return Decision(actions=actions, text=text, thought=_thought(text), repairs=repairs, cost=cost)

    def _read(self, text: str, frame: Frame) -> tuple[Action, ...]:
        scan_calls(thought_and_calls(text)[1])  # the dialect takes unescaped quotes as they come
        return read(self._dialect, text, frame)


def _thought(text: str) -> str | None:
    """What stands before the calls; None where nothing does."""
    before, _ = thought_and_calls(text)
    return before.strip().removeprefix("Thought:").strip() or None


# ---- UI-TARS's words

_ESCAPES = (Repair.ESCAPES, escaped)
# first, for the others would change what stands in such a text; and last, for what they lay bare
_NEAR = (_ESCAPES, *SYNTACTIC, _ESCAPES)
_NORMALISED = CoordinateSystem(kind="normalised")
_UI_TARS: Mapping[str, CoordinateSystem] = {
    "ui_tars": RESIZED,
    "ui_tars_1_0": _NORMALISED,
    "ui_tars_mobile": RESIZED,
    "ui_tars_mobile_1_0": _NORMALISED,
}
_COMPUTER = """\
click({at})
left_double({at})
right_single({at})
drag({start}, {end})
hotkey(key='ctrl c')  # lower case, a space between, three keys at most
type(content='xxx')  # escape \\', \\" and \\n; a \\n at the end submits
scroll({at}, direction='down or up or right or left')
wait()  # five seconds
finished(content='xxx')
call_user(content='xxx')"""
_MOBILE = """\
click({at})
long_press({at})
type(content='xxx')  # escape \\', \\" and \\n; a \\n at the end submits
scroll({at}, direction='down or up or right or left')
open_app(app_name='xxx')
drag({start}, {end})
press_home()
press_back()
finished(content='xxx')
call_user(content='xxx')"""
_POINTS = {
    "at": "point='<point>x1 y1</point>'",
    "start": "start_point='<point>x1 y1</point>'",
    "end": "end_point='<point>x2 y2</point>'",
}
_BOXES = {
    "at": "start_box='<|box_start|>(x1,y1)<|box_end|>'",
    "start": "start_box='<|box_start|>(x1,y1)<|box_end|>'",
    "end": "end_box='<|box_start|>(x2,y2)<|box_end|>'",
}


def _prompt(dialect: str, instruction: str) -> str:
    actions = _MOBILE if "mobile" in dialect else _COMPUTER
    places = _BOXES if dialect.endswith("_1_0") else _POINTS
    return (
        "You are a GUI agent. You see the screen and what was done so far, and take the next action of a "
        "task.\n\n"
        "## Output Format\n```\nThought: ...\nAction: ...\n```\n\n"
        f"## Action Space\n\n{actions.format(**places)}\n\n"
        "## Note\n- Think in English.\n- Let the thought be a short plan that ends with the next action and "
        "what it is done to.\n\n"
        f"## User Instruction\n{instruction}"
    )


# ---- our own words


def system_prompt(coordinates: CoordinateSystem) -> str:
    """What a model that was never trained on this grammar has to be told."""
    return (
        "You work at a computer for a person. You see its screen and act on it until the task is done.\n"
        "Reply with your reasoning and then one action, or several on lines of their own:\n\n"
        "<think>why</think>\nclick(point='<point>x y</point>')\n\n"
        f"The actions:\n{GRAMMAR}\n\n{_COORDINATES[coordinates.kind]}"
    )


_PIXELS = "x counts pixels of the screenshot from the left, y from the top."
_COORDINATES = {
    "pixel": _PIXELS,
    "grid": _PIXELS,
    "resized": _PIXELS,
    "normalised": "x runs from 0 at the left edge to 1000 at the right one, y from 0 at the top to 1000.",
}
