from __future__ import annotations

from deskhand_sandbox.backends.android.apps import app_names

# of `cmd package query-activities --brief --components` on an emulator
COMPONENTS = [
    "com.android.settings/.Settings",
    "com.google.android.deskclock/com.android.deskclock.DeskClock",
    "com.google.android.apps.messaging/.ui.ConversationListActivity",
    "com.google.android.contacts/com.android.contacts.activities.PeopleActivity",
    "com.android.chrome/com.google.android.apps.chrome.Main",
    "com.android.camera2/com.android.camera.CameraLauncher",
]


def test_apps_are_found_by_what_their_launcher_shows() -> None:
    names = app_names(COMPONENTS)
    shown = ("settings", "clock", "messages", "contacts", "chrome", "camera")
    for name, component in zip(shown, COMPONENTS, strict=True):
        assert names[name] == component
    assert names["com.android.chrome"] == COMPONENTS[4]
