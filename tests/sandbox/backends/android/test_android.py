"""The Android backend through the real adb server and client, on simulators."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from deskhand_sandbox.backends.android import AndroidBackend, AndroidSandbox, create
from deskhand_sandbox.backends.android.adb.device import COMMAND_BYTES
from deskhand_sandbox.backends.android.simulated import Simulated
from deskhand_sandbox.base import Capability
from deskhand_sandbox.conformance import CHECKS, check_backend
from deskhand_sandbox.dialects.android_world import DIALECT
from deskhand_sandbox.dialects.dialect import View
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    InvalidAction,
    InvalidTask,
    SandboxDied,
    UnknownName,
    UnsupportedCapability,
    VerifierError,
)
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks.android.drawn import find, tap
from deskhand_sandbox.types import (
    CallTool,
    Click,
    DeviceAction,
    Drag,
    EditFile,
    History,
    JsonValue,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    Observation,
    OpenApp,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    Swipe,
    Task,
    Touch,
    TypeText,
    Wait,
    WriteFile,
)

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
Phone = Callable[..., Task]
FOLDERS = "DCIM\nDocuments\nDownload\nPictures"


async def tree(sandbox: AndroidSandbox) -> str:
    """What stands on the screen, without a picture of it, which takes the longest."""
    return await sandbox._text_tree()


async def touch(sandbox: AndroidSandbox, label: str) -> Observation:
    return await sandbox.act(find(await tree(sandbox), tap(label)))


async def shell(sandbox: AndroidSandbox, command: str) -> str:
    """What a command prints in the terminal, without a picture of the screen."""
    return await sandbox._hand.terminal.perform(Run(command=command))


async def field_text(sandbox: AndroidSandbox) -> str:
    """What the focused field holds."""
    line = next(line for line in (await tree(sandbox)).splitlines() if "focused" in line)
    found = re.search(r'EditText "(.*?)"', line)
    return found[1] if found else ""


@pytest.mark.slow
async def test_an_android_sandbox_conforms(phone: Phone) -> None:
    backend = create_backend("android")
    try:
        assert await check_backend(backend, phone()) == tuple(CHECKS)
    finally:
        await backend.close()


async def test_keys_the_simulator_does_nothing_for_are_pressed_all_the_same(
    sandbox: AndroidSandbox, phone: Phone
) -> None:
    home = (await sandbox.reset(phone())).observation
    for keys in (("AppSwitch",), ("Camera",), ("BrowserSearch",), ("Control", "GoBack")):
        seen = await sandbox.act(Press(keys=keys))
        assert seen.screenshot.digest == home.screenshot.digest


async def test_apps_are_worked_by_touch_and_text(sandbox: AndroidSandbox, phone: Phone) -> None:
    home = (await sandbox.reset(phone())).observation
    assert home.size_px == (412, 915) and home.settled
    await touch(sandbox, "Contacts")
    await touch(sandbox, "Add contact")
    await touch(sandbox, "Name")
    await sandbox.act(TypeText(text="Zoë Ω 日本 😀"))
    await touch(sandbox, "Phone")
    await sandbox.act(TypeText(text="555 0100%s x"))
    assert await field_text(sandbox) == "555 0100%s x"
    await touch(sandbox, "Email")
    await sandbox.act(TypeText(text="👩\u200d🚀@a"))
    assert await field_text(sandbox) == "👩\u200d🚀@a"
    await touch(sandbox, "Save")
    assert 'TextView "Zoë Ω 日本 😀"' in await tree(sandbox)
    where = "--where \"name='Zoë Ω 日本 😀'\""
    found = await sandbox.evaluate(f"content query --uri content://org.deskhand.contacts/contacts {where}")
    assert found == "Row: 0 _id=7, name=Zoë Ω 日本 😀, number=555 0100%s x, email=👩\u200d🚀@a"
    again = await sandbox.act(History(to="home"))
    assert again.screenshot.digest == home.screenshot.digest


async def test_enter_back_and_the_keyboard_on_the_screen(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone(app="Contacts"))
    await touch(sandbox, "Add contact")
    await touch(sandbox, "Name")
    assert "mInputShown=true" in await shell(sandbox, "dumpsys input_method")
    seen = await sandbox.act(TypeText(text="Mo\n"))
    assert await field_text(sandbox) == ""
    assert "EditText" in await tree(sandbox)
    # the first key of the keyboard's top row
    await sandbox.act(Touch(x=25, y=690))
    assert await field_text(sandbox) == "q"
    hidden = await sandbox.act(History(to="back"))
    assert hidden.screenshot.digest != seen.screenshot.digest
    assert "mInputShown=false" in await shell(sandbox, "dumpsys input_method")
    await sandbox.act(History(to="back"))
    assert 'Button "Save"' not in await tree(sandbox)


async def test_keys(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone(app="Notes"))
    await touch(sandbox, "New note")
    await touch(sandbox, "Title")
    await sandbox.act(TypeText(text="abc"))
    await sandbox.act(Press(keys=("Backspace",)))
    await sandbox.act(Press(keys=("D",)))
    await sandbox.act(Press(keys=("ArrowLeft",)))
    await sandbox.act(Press(keys=("7",)))
    assert await field_text(sandbox) == "ab7D"
    await sandbox.act(KeyDown(key="Control"))
    await sandbox.act(Press(keys=("a",)))
    await sandbox.act(KeyUp(key="Control"))
    await sandbox.act(Press(keys=("Delete",)))
    assert await field_text(sandbox) == ""
    for action, said in (
        (Press(keys=("Entr",)), "did you mean Enter"),
        (KeyUp(key="Shift"), "is not held"),
        (TypeText(text="bell\a"), "no character a keyboard types"),
    ):
        with pytest.raises(InvalidAction, match=said):
            await sandbox.act(action)
    with pytest.raises(UnsupportedCapability, match="can hold"):
        await sandbox.act(KeyDown(key="a"))


@pytest.mark.slow
async def test_scrolling_swiping_and_pressing_long(sandbox: AndroidSandbox, phone: Phone) -> None:
    many = "".join(
        f"content insert --uri content://org.deskhand.contacts/contacts --bind name:s:'Person {n:02}'\n"
        for n in range(10)
    )
    start = (await sandbox.reset(phone(app="Contacts", prepare=many))).observation
    down = await sandbox.act(Scroll(x=200, y=500, dy_px=600))
    assert 'TextView "Person 09"' in await tree(sandbox)
    assert down.screenshot.digest != start.screenshot.digest
    up = await sandbox.act(Scroll(x=200, y=100, dy_px=-900))
    assert up.screenshot.digest == start.screenshot.digest
    by_finger = await sandbox.act(Swipe(path=((200, 700), (200, 300)), duration_ms=200))
    assert by_finger.screenshot.digest != start.screenshot.digest
    back = await sandbox.act(Swipe(path=((200, 300), (250, 600), (200, 780)), duration_ms=200))
    assert back.screenshot.digest == start.screenshot.digest
    await sandbox.act(OpenApp(name="gallery"))
    picture = find(await tree(sandbox), tap("IMG_0001.jpg"))
    for press in (
        Touch(x=picture.x, y=picture.y, hold_ms=700),
        Click(x=picture.x, y=picture.y, button="right"),
    ):
        await sandbox.act(press)
    favourites = "content query --uri content://media/external/images/media --where is_favorite=1"
    assert await sandbox.evaluate(favourites) == "No result found."
    await sandbox.act(Touch(x=picture.x, y=picture.y, hold_ms=700))
    assert "IMG_0001.jpg" in str(await sandbox.evaluate(favourites))


async def test_a_mouse_is_a_finger(sandbox: AndroidSandbox, phone: Phone) -> None:
    start = (await sandbox.reset(phone(app="Settings"))).observation
    for action in (MovePointer(x=200, y=120), PointerDown(), PointerUp()):
        await sandbox.act(action)
    assert "Switch" in await tree(sandbox)
    back = await sandbox.act(History(to="back"))
    assert back.screenshot.digest == start.screenshot.digest
    await touch(sandbox, "Display")
    slider = find(await tree(sandbox), tap("Brightness"))
    await sandbox.act(Drag(path=((slider.x, slider.y), (300, slider.y))))
    brightness = await sandbox.evaluate("settings get system screen_brightness")
    assert isinstance(brightness, int) and 180 < brightness < 215
    await sandbox.act(Click(x=slider.x, y=slider.y, count=2))
    assert await sandbox.evaluate("settings get system screen_brightness") in range(126, 131)
    with pytest.raises(UnsupportedCapability, match="middle button"):
        await sandbox.act(Click(x=1, y=1, button="middle"))


async def test_commands_and_files(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone())
    assert (await sandbox.act(Run(command="getprop ro.product.model"))).output == "Deskhand Simulator"
    assert await shell(sandbox, "pm list packages | grep -c deskhand") == "7"
    assert await shell(sandbox, "input tap 60 200; wm size | cut -d' ' -f3") == "412x915"
    assert await shell(sandbox, "echo out; echo err >&2; (exit 4)") == "out\nerr\n[exit status 4]"
    assert await shell(sandbox, "cd /sdcard && word=kept && pwd") == "/sdcard"
    assert await shell(sandbox, "pwd; ls -1; echo $word") == f"/sdcard\n{FOLDERS}\nkept"
    assert await shell(sandbox, "echo 'open") == "the command is not complete\n[exit status 130]"
    assert (await shell(sandbox, "seq 100000")).count("\n") < 20_000
    await sandbox.act(WriteFile(path="/sdcard/Documents/a b.txt", content="süß\n"))
    assert await shell(sandbox, "cat 'Documents/a b.txt'") == "süß"
    assert (await sandbox.act(ReadFile(path="/sdcard/Documents/a b.txt"))).output == "süß\n"
    await sandbox.act(Run(command="mkdir -p /sdcard/locked/inner; chmod 0 /sdcard/locked/inner"))
    await sandbox.act(EditFile(path="/sdcard/Documents/a b.txt", old="ß", new="ss"))
    assert await shell(sandbox, "cat 'Documents/a b.txt'") == "süss"
    await shell(sandbox, "printf '\\377' > /sdcard/Pictures/bytes")
    long = f"echo {'x' * 70_000} | wc -c"
    assert await shell(sandbox, long) == "70001"
    for action, said in (
        (ReadFile(path="/etc/passwd"), "Permission denied"),
        (WriteFile(path="/system/x", content="x"), "Permission denied"),
        (Run(command=" "), "no command"),
        (ReadFile(path="a\0b"), "characters that none has"),
        (EditFile(path="/sdcard/Pictures/bytes", old="a", new="b"), "no text"),
        (EditFile(path="/sdcard/Documents/a b.txt", old="x", new="y"), "holds 'x' 0 times"),
        (Run(command="true", timeout_s=0), "up to 3600 seconds"),
    ):
        with pytest.raises(InvalidAction, match=said):
            await sandbox.act(action)
    await sandbox.reset(phone())
    assert await shell(sandbox, "ls -1 /sdcard") == FOLDERS


async def test_verifiers_ask_the_device(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone())
    assert await sandbox.evaluate("settings get global wifi_on") == 1
    assert await sandbox.evaluate("getprop ro.product.device") == "simulator"
    assert await sandbox.evaluate("test -e nothing") is False
    assert await sandbox.evaluate("true") is True
    with pytest.raises(VerifierError, match="exit status 5: no luck"):
        await sandbox.evaluate("echo no luck >&2; exit 5")
    with pytest.raises(InvalidTask, match=f"may have {COMMAND_BYTES}"):
        await sandbox.evaluate("true " + "x" * COMMAND_BYTES)


async def test_a_task_prepares_its_device(sandbox: AndroidSandbox, phone: Phone) -> None:
    task = phone(prepare="echo $SEED > seed; settings put system font_scale 1.15", app="Settings")
    await sandbox.reset(task)
    assert await shell(sandbox, "cat seed") == "0"
    assert "org.deskhand.settings" in await shell(sandbox, "dumpsys window | grep mCurrentFocus")
    await sandbox.reset(phone(clear=["org.deskhand.contacts"], app="Contacts"))
    assert 'TextView "No contacts"' in ((await sandbox.observe(text_tree=True)).text_tree or "")
    wide = (await sandbox.reset(phone(orientation="landscape", image_format="jpeg"))).observation
    assert wide.size_px == (915, 412)
    assert Image.open(io.BytesIO(wide.screenshot.data or b"")).size == (915, 412)
    await sandbox.act(Click(x=914, y=411))
    with pytest.raises(InvalidTask, match="exit status 4: no luck"):
        await sandbox.reset(phone(prepare="echo no luck >&2; exit 4"))
    with pytest.raises(InvalidTask, match=f"may have {COMMAND_BYTES}"):
        await sandbox.reset(phone(prepare="true " + "x" * COMMAND_BYTES))
    with pytest.raises(InfrastructureError, match="was killed"):
        await sandbox.reset(phone(prepare="kill -KILL $$"))
    with pytest.raises(InfrastructureError, match="is it installed"):
        await sandbox.reset(phone(clear=["org.example"]))
    with pytest.raises(InvalidTask, match="unknown app 'Camera'"):
        await sandbox.reset(phone(app="Camera"))
    await sandbox.reset(phone())


async def test_an_apk_is_refused_with_the_devices_own_words(
    sandbox: AndroidSandbox, phone: Phone, tmp_path: Path
) -> None:
    (tmp_path / "app.apk").write_bytes(b"PK\3\4" + bytes(1000))
    with pytest.raises(InfrastructureError, match="a simulator runs no Android code"):
        await sandbox.reset(phone(install=[str(tmp_path / "app.apk")]))
    with pytest.raises(InvalidTask, match="no file"):
        await sandbox.reset(phone(install=[str(tmp_path / "other.apk")]))


async def test_a_snapshot_brings_everything_back(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone(app="Contacts"))
    await touch(sandbox, "Ada Brooks")
    await touch(sandbox, "Edit")
    await touch(sandbox, "Email")
    await sandbox.act(TypeText(text="half"))
    await sandbox.act(WriteFile(path="kept", content="kept"))
    await sandbox.act(Run(command="settings put global wifi_on 0"))
    before = await sandbox.observe()
    kept = await sandbox.snapshot()
    for label in ("Navigate up", "Delete", "Delete"):
        await touch(sandbox, label)
    await sandbox.act(Run(command="rm kept; settings put global wifi_on 1"))
    after = await sandbox.restore(kept)
    assert after.screenshot.digest == before.screenshot.digest
    assert await shell(sandbox, "cat kept; settings get global wifi_on") == "kept0"
    await touch(sandbox, "Save")
    assert 'TextView "adahalf@example.org"' not in await tree(sandbox)
    with pytest.raises(UnknownName, match="unknown snapshot"):
        await sandbox.restore("no such")
    await sandbox.reset(phone())
    with pytest.raises(UnknownName):
        await sandbox.restore(kept)


async def test_copies_are_exact_and_their_own(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone(app="Notes", orientation="landscape"))
    await touch(sandbox, "New note")
    await touch(sandbox, "Title")
    await sandbox.act(TypeText(text="half typed"))
    await sandbox.act(WriteFile(path="kept", content="kept"))
    before = await sandbox.observe()
    one, two = await sandbox.fork(2)
    async with one, two:
        for copy in (one, two):
            assert (await copy.observe()).screenshot.digest == before.screenshot.digest
        await one.act(TypeText(text=" and more"))
        assert isinstance(one, AndroidSandbox) and isinstance(two, AndroidSandbox)
        assert await field_text(one) == "half typed and more"
        assert await field_text(two) == "half typed"
        assert await shell(two, "cat kept; rm kept") == "kept"
        assert await shell(one, "cat kept") == "kept"
    assert (await sandbox.observe()).screenshot.digest == before.screenshot.digest


async def test_actions_of_android_world_run_on_it(sandbox: AndroidSandbox, phone: Phone) -> None:
    seen = (await sandbox.reset(phone())).observation
    for written in (
        {"action_type": "open_app", "app_name": "Messages"},
        {"action_type": "click", "x": 200, "y": 120},
        {"action_type": "input_text", "x": 150, "y": 840, "text": "¡Hola!"},
        {"action_type": "wait"},
        {"action_type": "navigate_back"},
        {"action_type": "scroll", "direction": "down"},
        {"action_type": "swipe", "direction": "down"},
        {"action_type": "navigate_home"},
    ):
        for action in DIALECT.read(written, View(frame=DIALECT.frame(seen.size_px))):
            seen = await sandbox.act(action)  # type: ignore[arg-type]
    sent = await sandbox.evaluate(
        "content query --uri content://sms --where \"body='¡Hola!'\" --projection type"
    )
    assert sent == "Row: 0 type=2"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"app": 3}, "app must be text"),
        ({"install": "x.apk"}, "install must be a list"),
        ({"orientation": "sideways"}, "portrait or landscape"),
        ({"steady_status_bar": 1}, "true or false"),
        ({"image_format": "gif"}, "png, jpeg or webp"),
        ({"still_ms": 0}, "still_ms must be a positive number"),
        ({"instal": []}, "did you mean install"),
    ],
)
async def test_wrong_settings_are_refused(
    sandbox: AndroidSandbox, phone: Phone, settings: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidTask, match=said):
        await sandbox.reset(phone(**settings))


async def test_what_a_device_lacks_is_said(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone())
    with pytest.raises(UnsupportedCapability, match="CallTool"):
        await sandbox.act(CallTool(name="x"))
    with pytest.raises(UnsupportedCapability, match="reload"):
        await sandbox.act(History(to="reload"))
    refused: list[tuple[DeviceAction, str]] = [
        (Navigate(url="https://example.org"), "no app on this device opens"),
        (OpenApp(name="Contcts"), "did you mean contacts"),
        (Touch(x=1, y=915), "off the screen, which is 412 x 915"),
        (Swipe(path=((1, 1), (1, -1))), "off the screen"),
        (Swipe(path=((1, 1),)), "at least two points"),
        (Touch(x=1, y=1, hold_ms=-1), "0 to 60000 ms"),
        (Wait(seconds=601), "0 to 600 seconds"),
    ]
    for action, said in refused:
        with pytest.raises(InvalidAction, match=said):
            await sandbox.act(action)


@pytest.mark.slow
async def test_without_a_keyboard_for_it_text_is_refused_and_never_dropped(phone: Phone) -> None:
    backend = create(unicode_keyboard=False, size_px=[360, 640])
    try:
        async with await backend.create() as sandbox:
            assert isinstance(sandbox, AndroidSandbox)
            assert (await sandbox.reset(phone(app="Notes"))).observation.size_px == (360, 640)
            await touch(sandbox, "New note")
            await touch(sandbox, "Title")
            await sandbox.act(TypeText(text="plain"))
            with pytest.raises(InvalidAction, match="no 'ü'; with ADBKeyboard"):
                await sandbox.act(TypeText(text="grün"))
            assert await field_text(sandbox) == "plain"
    finally:
        await backend.close()


async def test_a_dead_browser_is_noticed_and_a_new_one_started(phone: Phone) -> None:
    backend = create()
    try:
        sandbox = await backend.create()
        await sandbox.reset(phone())
        assert sandbox.alive() and backend.simulators is not None
        assert isinstance(sandbox.machine, Simulated)
        folder = sandbox.machine.simulator.files.root.parent
        os.kill(backend.simulators.pid or 0, signal.SIGKILL)
        with pytest.raises(SandboxDied):
            for _ in range(50):
                await sandbox.observe()
        with pytest.raises(SandboxDied, match="not to be used again"):
            await sandbox.observe()
        assert not sandbox.alive()
        await sandbox.close()
        assert not folder.exists()
        async with await backend.create() as another:
            await another.reset(phone())
    finally:
        await backend.close()


async def test_a_dead_adb_server_is_noticed_and_a_new_one_started(phone: Phone) -> None:
    backend = create()
    try:
        sandbox = await backend.create()
        await sandbox.reset(phone())
        server = await backend.server()
        assert server.pid is not None and server.home is not None
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(SandboxDied):
            for _ in range(50):
                await sandbox.observe()
        await sandbox.close()
        async with await backend.create() as another:
            await another.reset(phone())
        assert not server.home.exists()
    finally:
        await backend.close()


@pytest.mark.slow
async def test_attached_devices_are_lent_one_by_one(backend: AndroidBackend, phone: Phone) -> None:
    """A simulator as if it were somebody's device at somebody's adb server."""
    theirs = await backend.create()
    assert isinstance(theirs, AndroidSandbox)
    server = await backend.server()
    serial = theirs.machine.serial
    mine = create(machine="attached", serials=[serial], adb_server=f"127.0.0.1:{server.port}")
    try:
        async with await mine.create() as sandbox:
            await sandbox.reset(phone(app="Clock"))
            assert not {Capability.SNAPSHOT, Capability.FORK} & sandbox.capabilities
            with pytest.raises(InfrastructureError, match="all 1 attached devices are in use"):
                await mine.create()
        async with await mine.create() as sandbox:
            seen = await sandbox.reset(phone())
            assert seen.observation.size_px == (412, 915)
    finally:
        await mine.close()
        await theirs.close()
    assert server.alive()


async def test_an_attached_device_is_lent_once_whoever_asks(backend: AndroidBackend) -> None:
    theirs = await backend.create()
    server, serial = await backend.server(), theirs.machine.serial
    settings: dict[str, JsonValue] = {
        "machine": "attached",
        "serials": [serial],
        "adb_server": f"127.0.0.1:{server.port}",
    }
    pools = {"android": PoolSettings(max_sandboxes=2, settings=settings)}
    other = create(**settings)
    try:
        async with SandboxManager(pools) as manager, manager.lease("android", owner="one"):
            with pytest.raises(InfrastructureError, match="all 1 attached devices are in use"):
                await manager.acquire("android", owner="two", wait_s=120)
            with pytest.raises(InfrastructureError, match="all 1 attached devices are in use"):
                await other.create()
    finally:
        await other.close()
        await theirs.close()


async def test_devices_that_do_not_answer_stand_before_none_that_does(backend: AndroidBackend) -> None:
    theirs = await backend.create()
    server, serial = await backend.server(), theirs.machine.serial
    gone = ["emulator-5554", "emulator-5556", "emulator-5558"]
    mine = create(machine="attached", serials=[*gone, serial], adb_server=f"127.0.0.1:{server.port}")
    try:
        for _ in range(2):
            async with await mine.create() as sandbox:
                assert isinstance(sandbox, AndroidSandbox) and sandbox.machine.serial == serial
    finally:
        await mine.close()
        await theirs.close()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"machine": "robot"}, "simulator, emulator, attached"),
        ({"machine": "attached"}, "serials must name"),
        ({"serials": ["x"]}, "machine='attached'"),
        ({"size_px": [10, 10]}, "from 200 to 8192"),
        ({"call_deadline_s": -1}, "positive"),
        ({"machine": "emulator", "emulator": {"imag": "x"}}, "imag"),
        ({"machin": "emulator"}, "did you mean machine"),
    ],
)
async def test_wrong_backend_settings_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        create(**settings)


async def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKHAND_ADB", "/no/such/adb")
    with pytest.raises(BackendMissing, match="apt-get install adb"):
        create()


@pytest.mark.slow
async def test_a_phone_is_lent_like_any_other(phone: Phone, tmp_path: Path) -> None:
    settings = HostSettings(kinds={"android": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    async with start_host(settings) as host, SandboxClient(host.url, host.token) as source:
        for name in ("First", "Second"):
            async with source.lease("android", owner="test", wait_s=60) as sandbox:
                await sandbox.reset(phone(app="Contacts"))
                seen = await sandbox.observe(text_tree=True)
                assert (seen.text_tree or "").count('TextView "Ada Brooks"') == 1
                add = f"content insert --uri content://org.deskhand.contacts/contacts --bind name:s:{name}"
                await sandbox.act(Run(command=add))
    async with asyncio.timeout(120):
        while any("deskhand-android-" in line or "deskhand-adb-" in line for line in command_lines()):
            await asyncio.sleep(0.05)


def command_lines() -> list[str]:
    """Of this process's descendants."""
    found: list[str] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(os.getpid()) in place.with_name("stat").read_text().split()[3]:
                found.append(place.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
