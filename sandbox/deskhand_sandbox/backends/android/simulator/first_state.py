"""What is on a simulated device that comes fresh to its owner: the same every time, whatever came before."""

from __future__ import annotations

from deskhand_sandbox.backends.android.simulator.tables import Tables

EPOCH_S = 1697384040
"""Where the device's clock starts: 2023-10-15 15:34 UTC, as AndroidWorld's does."""
DAY_MS = 86_400_000

SETTINGS = {
    "global": {
        "wifi_on": "1",
        "bluetooth_on": "1",
        "airplane_mode_on": "0",
        "device_name": "Simulator",
    },
    "system": {
        "screen_brightness": "128",
        "accelerometer_rotation": "0",
        "user_rotation": "0",
        "font_scale": "1.0",
        "volume_music": "5",
    },
    "secure": {"ui_night_mode": "1", "location_mode": "3"},
}
CONTACTS = (
    ("Ada Brooks", "+1 555 0142", "ada@example.org"),
    ("Ben Okafor", "+1 555 0178", ""),
    ("Clara Nuñez", "+34 600 555 019", "clara@example.org"),
    ("Dmitri Ivanov", "+1 555 0113", ""),
    ("Emi Tanaka", "+81 90 5555 0101", "emi@example.org"),
    ("Farid Haddad", "+1 555 0190", ""),
)
NOTES = (
    ("Shopping", "oats, pears, coffee filters"),
    ("Book club", "Chapters 4 to 6 before the 21st"),
    ("Wi-Fi at the cabin", "network: pinecone, password on the fridge"),
)
MESSAGES = (
    ("+1 555 0142", "Are we still on for Saturday?", 1, 30),
    ("+1 555 0142", "Yes, ten at the station", 2, 29),
    ("+1 555 0178", "The parcel is at the neighbour's", 1, 20),
    ("+81 90 5555 0101", "Thanks for the photos!", 1, 5),
)
"""Number, text, 1 received or 2 sent, hours ago."""
IMAGES = (
    ("IMG_0001.jpg", "Camera", 1),
    ("IMG_0002.jpg", "Camera", 2),
    ("IMG_0003.jpg", "Camera", 3),
    ("IMG_0004.jpg", "Camera", 4),
    ("Ticket.png", "Screenshots", 5),
    ("Map.png", "Screenshots", 6),
)
PACKAGES = ("com.android.adbkeyboard", "com.android.systemui", "org.deskhand.launcher")
"""Installed besides the apps."""


def fill(tables: Tables) -> None:
    """Make the tables those of a fresh device."""
    tables.clear()
    for namespace, values in SETTINGS.items():
        for name, value in values.items():
            tables.insert("settings", {"namespace": namespace, "name": name, "value": value})
    for name, number, email in CONTACTS:
        tables.insert("contacts", {"name": name, "number": number, "email": email})
    for title, body in NOTES:
        tables.insert("notes", {"title": title, "body": body})
    for number, body, kind, hours in MESSAGES:
        when = (EPOCH_S - hours * 3600) * 1000
        tables.insert("sms", {"address": number, "body": body, "type": kind, "date": when})
    tables.insert("alarms", {"hour": 7, "minute": 0, "label": "Wake up", "enabled": 0})
    for name in ("timer", "stopwatch"):
        tables.insert("timers", {"name": name})
    for index, (name, folder, scene) in enumerate(IMAGES):
        when = EPOCH_S * 1000 - (index + 1) * DAY_MS
        values = {"_display_name": name, "bucket_display_name": folder, "scene": scene, "date_taken": when}
        tables.insert("images", values)
