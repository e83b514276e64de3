"""Tasks about people: contacts and messages."""

from __future__ import annotations

import random

from deskhand_sandbox.tasks.android.drawn import CONTACTS, SMS, Drawn, Template, add_row, row, rows, tap
from deskhand_sandbox.types import Answer, OpenApp, Press, TypeText, VerifierSpec

FIRST = (
    "Amara",
    "Bruno",
    "Chen",
    "Daria",
    "Elif",
    "Goran",
    "Hana",
    "Igor",
    "Jonas",
    "Kofi",
    "Leila",
    "Marta",
)
LAST = ("Adeyemi", "Bianchi", "Castro", "Dvorak", "Eriksen", "Fischer", "Garcia", "Horvat", "Ito", "Jensen")
TEXTS = (
    "I am running ten minutes late",
    "The keys are under the blue pot",
    "Can you bring the projector?",
    "Dinner is at seven on Friday",
    "Thanks, that worked",
    "Platform 4, second carriage",
)
CLEAR = (Press(keys=("Control", "a")), Press(keys=("Backspace",)))


def _person(draw: random.Random) -> str:
    return f"{draw.choice(FIRST)} {draw.choice(LAST)}"


def _number(draw: random.Random) -> str:
    return f"+1 555 {draw.randrange(200, 999)} {draw.randrange(1000, 9999)}"


def _add(draw: random.Random) -> Drawn:
    name, number = _person(draw), _number(draw)
    return Drawn(
        instruction=f"Create a new contact for {name}. The phone number is {number}.",
        oracle=(
            OpenApp(name="Contacts"), tap("Add contact"), tap("Name"), TypeText(text=name),
            tap("Phone"), TypeText(text=number), tap("Save"),
        ),
        verifier=rows(row(CONTACTS, 1, name=name, number=number), {"uri": CONTACTS, "count": 7}),
    )  # fmt: skip


def _delete(draw: random.Random) -> Drawn:
    name = _person(draw)
    return Drawn(
        instruction=f"Delete the contact {name}.",
        prepare=add_row(CONTACTS, name=name, number=_number(draw)),
        oracle=(OpenApp(name="Contacts"), tap(name), tap("Delete"), tap("Delete")),
        verifier=rows(row(CONTACTS, 0, name=name), {"uri": CONTACTS, "count": 6}),
    )


def _change(draw: random.Random) -> Drawn:
    name, old, new = _person(draw), _number(draw), _number(draw)
    return Drawn(
        instruction=f"{name} has a new phone number: {new}. Change the contact.",
        prepare=add_row(CONTACTS, name=name, number=old, email=f"{name.split()[0].lower()}@example.org"),
        oracle=(
            OpenApp(name="Contacts"), tap(name), tap("Edit"), tap(old), *CLEAR,
            TypeText(text=new), tap("Save"),
        ),
        verifier=rows(row(CONTACTS, 1, name=name, number=new), row(CONTACTS, 0, number=old)),
    )  # fmt: skip


def _find(draw: random.Random) -> Drawn:
    name, number = _person(draw), _number(draw)
    return Drawn(
        instruction=f"What is the phone number of {name}? Answer with the number as it is written there.",
        prepare=add_row(CONTACTS, name=name, number=number),
        oracle=(OpenApp(name="Contacts"), tap(name), Answer(text=number)),
        verifier=VerifierSpec(name="answer", settings={"expected": number}),
    )


def _send(draw: random.Random) -> Drawn:
    name, number, text = _person(draw), _number(draw), draw.choice(TEXTS)
    return Drawn(
        instruction=f'Send {name} a text message that says "{text}".',
        prepare=add_row(CONTACTS, name=name, number=number),
        oracle=(
            OpenApp(name="Messages"), tap("Start chat"), tap(name), tap("Text message"),
            TypeText(text=text), tap("Send"),
        ),
        verifier=rows(row(SMS, 1, address=number, body=text, type=2), row(SMS, 2, type=2)),
    )  # fmt: skip


def _reply(draw: random.Random) -> Drawn:
    name, number = _person(draw), _number(draw)
    asked, text = draw.sample(TEXTS, 2)
    received = add_row(SMS, address=number, body=asked, type=1, read=0, date=1697383980000)
    return Drawn(
        instruction=f'Reply to the newest text message with "{text}".',
        prepare=add_row(CONTACTS, name=name, number=number) + received,
        oracle=(OpenApp(name="Messages"), tap(name), tap("Text message"), TypeText(text=text), tap("Send")),
        verifier=rows(row(SMS, 1, address=number, body=text, type=2), row(SMS, 2, type=2)),
    )


def _read(draw: random.Random) -> Drawn:
    name, number, text = _person(draw), _number(draw), draw.choice(TEXTS)
    received = add_row(SMS, address=number, body=text, type=1, read=0, date=1697380000000)
    return Drawn(
        instruction=f"What did {name} write in the last text message? Answer with its words.",
        prepare=add_row(CONTACTS, name=name, number=number) + received,
        oracle=(OpenApp(name="Messages"), tap(name), Answer(text=text)),
        verifier=VerifierSpec(name="answer", settings={"expected": text}),
    )


PEOPLE = {
    "contacts-add": Template(description="Create a contact with a name and a number.", draw=_add),
    "contacts-delete": Template(description="Delete one contact and no other.", draw=_delete),
    "contacts-change-number": Template(description="Replace a contact's number.", draw=_change),
    "contacts-find-number": Template(description="Say a contact's number.", draw=_find),
    "messages-send": Template(description="Write somebody a text message.", draw=_send),
    "messages-reply": Template(description="Answer the newest text message.", draw=_reply),
    "messages-read": Template(description="Say what somebody wrote.", draw=_read),
}
"""Name -> template."""
