"""A policy's memory as it is named in `deskhand.json` and in the processor's hash."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

Screens: TypeAlias = Literal["picture", "text", "both", "tree", "tree_and_picture"]
"""How a screen is shown: its screenshot, its terminal as text, or the one after the other; or its
accessibility tree, alone or before its screenshot, and its terminal too where it has one. A screen without
that text is shown as a picture whatever was chosen."""

Strategy: TypeAlias = Literal["window", "summary", "episodic", "constant", "operations"]
"""What stands in place of turns that are no longer shown: see the module of the same name."""

WRITTEN: tuple[Strategy, ...] = ("summary", "episodic", "operations")
"""Strategies in which the model is asked to write in place of acting."""
TEXT_BYTES = 1024
"""Least `text_bytes` for each screen shown: so much always holds something of every part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowMemory:
    """The last screens whole, earlier actions as text, what the model wrote before them, and their bounds."""

    n_screenshots: int = 1
    """Screenshots shown in all, the current one included."""
    action_chars: int = 2000
    """Most characters of past actions as text; the oldest are dropped, and counted, beyond it. One that alone
    has more is cut to an eighth."""
    screens: Screens = "picture"
    summary_after: int = 0
    """Turns after which the model is asked to write what it is shown in their place from then on: a summary
    (SUPO, arXiv:2510.06727) unless `strategy` says otherwise; 0: never."""
    summary_tokens: int = 128
    """Longest such writing; behind an API, whose tokens nobody else counts, eight bytes are one."""
    plan_tokens: int = 0
    """Longest plan, where the model says what is to be done next and a frozen executor does it (AgentFlow,
    arXiv:2510.05592); 0: it acts itself."""
    strategy: Strategy = "window"
    """A window in which summaries are asked for is a "summary" by itself."""
    notes_chars: int = 2000
    """Most characters of notes kept by "episodic" and "operations"; the oldest are dropped beyond it. One
    that alone has more is cut to an eighth by the former and refused by the latter."""
    text_bytes: int = 0
    """Most bytes of text in a prompt, beside the system message and what is asked for; 0: no bound but those
    above. A text has no more tokens than bytes, so this bounds tokens whatever the page, the terminal or the
    user says, and for every model alike."""

    tree_bytes: int = 8192
    """Most bytes of an accessibility tree that is shown: beyond it what is off the screen is left out, then
    what comes last, and counted; 0: no bound but the sandbox's."""

    def __post_init__(self) -> None:
        if self.n_screenshots < 1:
            raise ValueError(
                f"n_screenshots is {self.n_screenshots}: the current one is always shown, so give 1 or more"
            )
        for name in ("action_chars", "notes_chars", "plan_tokens", "tree_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        if self.summary_after < 0 or self.summary_tokens < 1:
            raise ValueError(
                f"summary_after is {self.summary_after}, summary_tokens {self.summary_tokens}: give 0 or "
                "more turns, and 1 token or more"
            )
        for name, choices in (("screens", Screens), ("strategy", Strategy)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"{name} is {getattr(self, name)!r}: give {', '.join(get_args(choices))}")
        if self.strategy == "window" and self.summary_after:
            object.__setattr__(self, "strategy", "summary")
        self._check_strategy()
        if 0 != self.text_bytes < TEXT_BYTES * self.n_screenshots:
            raise ValueError(
                f"text_bytes is {self.text_bytes}: give {TEXT_BYTES * self.n_screenshots} or more for "
                f"{self.n_screenshots} screens, or 0 for no bound"
            )

    def _check_strategy(self) -> None:
        writes = self.strategy in WRITTEN
        if writes and not self.summary_after:
            raise ValueError(
                f"strategy is {self.strategy}: say in summary_after after how many turns the model writes"
            )
        if self.summary_after and not writes:
            raise ValueError(f"summary_after is {self.summary_after}: a {self.strategy} memory asks for none")
        if self.strategy == "constant" and self.plan_tokens:
            raise ValueError("plan_tokens: a plan has no thought, which is all that a constant memory keeps")

    @property
    def reads_tree(self) -> bool:
        """Whether accessibility trees are shown."""
        return self.screens in ("tree", "tree_and_picture")

    def told(self, **changes: Any) -> WindowMemory:
        """The same with some fields changed; those that are None stay.

        A strategy that asks for nothing is told so by its name alone, and so is one that asked by a
        `summary_after` of 0.

        Raises:
            ValueError: they do not go together; says why.
        """
        told = {name: value for name, value in changes.items() if value is not None}
        if told.get("strategy", "summary") not in WRITTEN:
            told = {"summary_after": 0} | told
        if told.get("summary_after") == 0 and self.strategy in WRITTEN:
            told = {"strategy": "window"} | told
        return replace(self, **told)

    def named(self) -> dict[str, Any]:
        """What of it names a processor: nothing of what is not in use, so that models from before a field was
        thought of keep their names."""
        without: list[str] = [] if self.summary_after else ["summary_after", "summary_tokens"]
        without += [] if self.plan_tokens else ["plan_tokens"]
        without += ["strategy"] if self.strategy in ("window", "summary") else []
        without += [] if self.strategy in ("episodic", "operations") else ["notes_chars"]
        without += [] if self.text_bytes else ["text_bytes"]
        without += [] if self.reads_tree else ["tree_bytes"]
        return {name: part for name, part in asdict(self).items() if name not in without}
