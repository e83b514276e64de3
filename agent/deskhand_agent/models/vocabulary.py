"""The tiny model's tokenizer: characters, coordinate numbers, action literals.

A click is five tokens and the end token. Text is read character by character, so a label the model has
never met is spelled like any other; numbers are single tokens only inside `<point>…</point>`, so digits of
a label stay digits.
"""

from __future__ import annotations

import string
from typing import Literal

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END = "<|im_end|>"
START = "<|im_start|>"
PAD = "<|endoftext|>"
UNKNOWN = "<|unknown|>"
VISION_START = "<|vision_start|>"
VISION_END = "<|vision_end|>"
IMAGE_PAD = "<|image_pad|>"
VIDEO_PAD = "<|video_pad|>"

SPECIAL_TOKENS = (PAD, UNKNOWN, START, END, VISION_START, VISION_END, IMAGE_PAD, VIDEO_PAD)
"""In this order they take the first ids."""

ROLES = ("system", "user", "assistant")
"""Words of the chat template; one token only where a stretch of text is nothing but the role's line."""

# fmt: off
WORDS = (
    "Click", "click", "on", "the", "a", "button", "buttons", "link", "links", "Find", "find", "Select",
    "select", "Enter", "enter", "text", "field", "fields", "into", "in", "to", "of", "for", "from",
    "with", "and", "then", "press", "Press", "type", "Type", "Expand", "expand", "section", "sections",
    "below", "Focus", "focus", "textbox", "input", "dialog", "box", "labeled", "named", "that",
    "Switch", "switch", "between", "tab", "tabs", "Choose", "choose", "list", "item", "items", "menu",
    "checkbox", "radio", "widget", "value", "number", "word", "user", "email", "password", "username",
    "both", "login", "Use", "use",
)
# fmt: on
"""Words instructions are made of: one token, with the blank before them, where they stand by themselves. What
follows a quotation mark is a label and is spelled, so that it can be matched with what stands on the page."""

# fmt: off
PAGE_WORDS = (
    "Point", "Read", "What", "Where", "Which", "Is", "at", "is", "it", "does", "say", "says", "hold", "what",
    "written", "state", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "last", "right",
    "left", "above", "red", "green", "blue", "yellow", "orange", "purple", "gray", "black", "white", "icon",
    "switch", "slider", "cell", "column", "head", "heading", "progress", "bar", "plus", "minus", "open",
    "closed", "selected", "off", "Set", "Turn", "Check", "Uncheck", "check", "uncheck", "turn", "set",
)
# fmt: on
"""Words of questions about pages, one token each in the vocabulary "pages"."""

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}"
    "{% else %}{% for part in message.content %}{% if part.type == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""For programs that drive the saved folder through transformers alone; `prompting` builds the same ids."""

CHARACTERS = tuple(string.digits + string.ascii_letters + string.punctuation + " \n")
LATIN = tuple(chr(point) for point in range(0xC0, 0x180) if point not in (0xD7, 0xF7))
"""Letters of Latin-1 and Latin Extended-A: most European languages."""

Vocabulary = Literal["tasks", "pages"]
"""What a tiny model can spell and say in one token: "tasks" is printable ASCII and the words of MiniWoB++'s
instructions; "pages" has Latin letters too, and the words of questions about pages."""

LITERALS = (
    "Done so far:\n",
    "<think>",
    "</think>\n",
    "click(point='<point>",
    "left_double(point='<point>",
    "left_triple(point='<point>",
    "right_single(point='<point>",
    "tap(point='<point>",
    "long_press(point='<point>",
    "move_to(point='<point>",
    "drag(start_point='<point>",
    "swipe(start_point='<point>",
    "</point>', end_point='<point>",
    "scroll(point='<point>",
    "</point>', direction='",
    "type(content='",
    "hotkey(key='",
    "press(key='",
    "release(key='",
    "wait(time=",
    "answer(content='",
    "finished(content='",
    "call_user(content='",
    "fail(reason='",
    "<point>",
    "</point>')",
    "</point>",
    "')",
)
"""Pieces of the action grammar worth one token each. The tokenizer spells whatever is not among them."""


def coordinate_numbers(grid_px: int, size_px: int) -> list[int]:
    """What a coordinate is rounded to: 0, 4, 8, … for a grid of 4 pixels."""
    return list(range(0, size_px, grid_px))


def build_tokenizer(
    *, grid_px: int, size_px: int, vocabulary: Vocabulary = "tasks"
) -> PreTrainedTokenizerFast:
    """The tiny model's tokenizer; `decode(encode(text)) == text` for the vocabulary's characters.

    Args:
        grid_px: coordinates on this grid are one token; others are spelled digit by digit.
        size_px: largest coordinate, exclusive.
    """
    numbers = [str(n) for n in coordinate_numbers(grid_px, size_px)]
    said, letters = (WORDS, ()) if vocabulary == "tasks" else ((*WORDS, *PAGE_WORDS), LATIN)
    words = [*SPECIAL_TOKENS, *ROLES, *LITERALS, *CHARACTERS, *letters]
    words = list(dict.fromkeys([*words, *_opening(said), *(f" {w}" for w in said), *numbers]))
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_pieces(numbers, said)), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        additional_special_tokens=[t for t in SPECIAL_TOKENS if t not in (PAD, UNKNOWN, END)],
        model_max_length=4096,
        clean_up_tokenization_spaces=False,
    )


def _opening(words: tuple[str, ...]) -> list[str]:
    """Words that may begin an instruction."""
    return [word for word in words if word[0].isupper()]


def _pieces(numbers: list[str], words: tuple[str, ...]) -> str:
    """One regular expression whose matches are the tokens, longest literal first."""
    literals = sorted((_escape(text) for text in LITERALS), key=len, reverse=True)
    number = "(?:" + "|".join(sorted(numbers, key=len, reverse=True)) + ")"
    first = rf"(?<=<point>){number}(?=[ ,])"
    second = rf"(?<=<point>\d[ ,]|<point>\d\d[ ,]|<point>\d\d\d[ ,]){number}(?=</point>)"  # y, after any x
    role = rf"\A(?:{'|'.join(ROLES)})(?=\n)"
    after = rf"(?![A-Za-z0-9(]|[{LATIN[0]}-{LATIN[-1]}])"
    opening = rf"(?:\A|(?<=\n))(?:{'|'.join(_opening(words))}){after}"
    word = rf"[ ](?:{'|'.join(words)}){after}"
    return "|".join([role, first, second, *literals, opening, word, r"[\s\S]"])


def _escape(text: str) -> str:
    """`text` for the tokenizer's expression engine, which reads an escaped letter as something else."""
    return "".join(rf"\{c}" if c in r"\^$.|?*+()[]{}'<>/" and c not in "'<>/" else c for c in text)
