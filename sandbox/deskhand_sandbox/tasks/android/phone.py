"""Tasks about the phone itself: notes, settings, clock and pictures."""

from __future__ import annotations

import random

from deskhand_sandbox.tasks.android.drawn import (
    ALARMS,
    IMAGES,
    NOTES,
    TIMERS,
    Drawn,
    Tap,
    Template,
    add_row,
    row,
    rows,
    setting,
    tap,
)
from deskhand_sandbox.types import JsonValue, OpenApp, TypeText

TITLES = (
    "Packing list",
    "Paint colours",
    "Garden plan",
    "Recipe ideas",
    "Locker code",
    "Meeting points",
    "Gifts",
)
WORDS = ("walnut", "ladder", "copper", "harbour", "violet", "sesame", "granite", "pepper", "maple", "velvet")
PICTURES = ("Harbour", "Orchard", "Bridge", "Summit", "Lantern", "Meadow", "Tram", "Dunes")


def _note(draw: random.Random) -> tuple[str, str]:
    return f"{draw.choice(TITLES)} {draw.randrange(1, 100)}", " ".join(draw.sample(WORDS, 3))


def _write(draw: random.Random) -> Drawn:
    title, body = _note(draw)
    return Drawn(
        instruction=f'Create a note titled "{title}" with the text "{body}".',
        oracle=(
            OpenApp(name="Notes"), tap("New note"), tap("Title"), TypeText(text=title),
            tap("Text"), TypeText(text=body), tap("Save"),
        ),
        verifier=rows(row(NOTES, 1, title=title, body=body), {"uri": NOTES, "count": 4}),
    )  # fmt: skip


def _delete_note(draw: random.Random) -> Drawn:
    title, body = _note(draw)
    return Drawn(
        instruction=f'Delete the note "{title}".',
        prepare=add_row(NOTES, title=title, body=body),
        oracle=(OpenApp(name="Notes"), tap(title), tap("Delete"), tap("Delete")),
        verifier=rows(row(NOTES, 0, title=title), {"uri": NOTES, "count": 3}),
    )


def _pin(draw: random.Random) -> Drawn:
    title, body = _note(draw)
    return Drawn(
        instruction=f'Pin the note "{title}" to the top of the list.',
        prepare=add_row(NOTES, title=title, body=body),
        oracle=(OpenApp(name="Notes"), tap(title), tap("Pin")),
        verifier=rows(row(NOTES, 1, title=title, pinned=1), row(NOTES, 1, pinned=1)),
    )


def _switch(draw: random.Random) -> Drawn:
    label, name = draw.choice((("Wi-Fi", "wifi_on"), ("Bluetooth", "bluetooth_on")))
    on = draw.random() < 0.5
    return Drawn(
        instruction=f"Turn {label} {'on' if on else 'off'}.",
        prepare=f"settings put global {name} {int(not on)}\n",
        oracle=(OpenApp(name="Settings"), tap("Network"), tap(label)),
        verifier=setting(f"global/{name}", str(int(on))),
    )


def _brightness(draw: random.Random) -> Drawn:
    most = draw.random() < 0.5
    return Drawn(
        instruction=f"Set the screen's brightness to the {'maximum' if most else 'minimum'}.",
        prepare=f"settings put system screen_brightness {draw.randrange(60, 200)}\n",
        oracle=(OpenApp(name="Settings"), tap("Display"), Tap(label="Brightness", share=float(most))),
        verifier=setting("system/screen_brightness", "255" if most else "1"),
    )


def _font(draw: random.Random) -> Drawn:
    size, value = draw.choice((("Small", "0.85"), ("Large", "1.15")))
    return Drawn(
        instruction=f"Change the font size to {size}.",
        oracle=(OpenApp(name="Settings"), tap("Display"), tap(size)),
        verifier=setting("system/font_scale", value),
    )


def _alarm(draw: random.Random) -> Drawn:
    hour, minute, label = draw.randrange(24), draw.randrange(60), draw.choice(WORDS)
    return Drawn(
        instruction=f'Set an alarm for {hour:02}:{minute:02} labelled "{label}".',
        oracle=(
            OpenApp(name="Clock"), tap("Add alarm"), tap("Hour"), TypeText(text=str(hour)), tap("Minute"),
            TypeText(text=f"{minute:02}"), tap("Label"), TypeText(text=label), tap("Save"),
        ),
        verifier=rows(
            row(ALARMS, 1, hour=hour, minute=minute, label=label, enabled=1), {"uri": ALARMS, "count": 2}
        ),
    )  # fmt: skip


def _timer(draw: random.Random) -> Drawn:
    hours, minutes, seconds = draw.randrange(3), draw.randrange(1, 60), draw.randrange(60)
    total = hours * 3600 + minutes * 60 + seconds
    return Drawn(
        instruction=f"Set the timer to {hours} h {minutes} min {seconds} s. Do not start it.",
        oracle=(
            OpenApp(name="Clock"), tap("Timer"), tap("Hours"), TypeText(text=str(hours)), tap("Minutes"),
            TypeText(text=str(minutes)), tap("Seconds"), TypeText(text=str(seconds)), tap("Set"),
        ),
        verifier=rows(row(TIMERS, 1, name="timer", seconds=total, state="reset")),
    )  # fmt: skip


def _stopwatch(draw: random.Random) -> Drawn:
    runs = draw.random() < 0.5
    state = "running" if runs else "paused"
    start = "" if runs else (
        f"content update --uri {TIMERS} --bind state:s:running --bind since:l:1697384000000"
        " --where \"name='stopwatch'\"\n"
    )  # fmt: skip
    return Drawn(
        instruction="Start the stopwatch." if runs else "Pause the stopwatch.",
        prepare=start,
        oracle=(OpenApp(name="Clock"), tap("Stopwatch"), tap("Start" if runs else "Pause")),
        verifier=rows(row(TIMERS, 1, name="stopwatch", state=state)),
    )


def _picture(draw: random.Random) -> tuple[str, str]:
    name = f"{draw.choice(PICTURES)}_{draw.randrange(10, 100)}.jpg"
    taken = 1697300000000 + draw.randrange(0, 80_000_000)
    values: dict[str, str | int] = {
        "_display_name": name,
        "scene": draw.randrange(7, 200),
        "date_taken": taken,
    }
    return name, add_row(IMAGES, **values)


def _favourite(draw: random.Random) -> Drawn:
    name, prepare = _picture(draw)
    return Drawn(
        instruction=f"Add the picture {name} to the favourites.",
        prepare=prepare,
        oracle=(OpenApp(name="Gallery"), tap(name), tap("Add to favourites")),
        verifier=rows(row(IMAGES, 1, _display_name=name, is_favorite=1), row(IMAGES, 1, is_favorite=1)),
    )


def _delete_picture(draw: random.Random) -> Drawn:
    name, prepare = _picture(draw)
    everything: JsonValue = {"uri": IMAGES, "count": 6}
    return Drawn(
        instruction=f"Delete the picture {name}.",
        prepare=prepare,
        oracle=(OpenApp(name="Gallery"), tap(name), tap("Delete"), tap("Delete")),
        verifier=rows(row(IMAGES, 0, _display_name=name), everything),
    )


PHONE = {
    "notes-write": Template(description="Write a note with a title and a text.", draw=_write),
    "notes-delete": Template(description="Delete one note and no other.", draw=_delete_note),
    "notes-pin": Template(description="Pin one note.", draw=_pin),
    "settings-switch": Template(description="Turn Wi-Fi or Bluetooth on or off.", draw=_switch),
    "settings-brightness": Template(
        description="Make the screen as bright or dark as it gets.", draw=_brightness
    ),
    "settings-font-size": Template(description="Change the size of the letters.", draw=_font),
    "clock-alarm": Template(description="Set an alarm with a label.", draw=_alarm),
    "clock-timer": Template(description="Set the timer without starting it.", draw=_timer),
    "clock-stopwatch": Template(description="Start or pause the stopwatch.", draw=_stopwatch),
    "gallery-favourite": Template(description="Mark one picture as a favourite.", draw=_favourite),
    "gallery-delete": Template(description="Delete one picture and no other.", draw=_delete_picture),
}
"""Name -> template."""
