import pytest

from deskhand_sandbox.backends.browser.settings import PageSettings, page_settings
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Task, VerifierSpec


def task(kind: str = "browser", **settings: JsonValue) -> Task:
    return Task(
        id="browser/test",
        environment=EnvironmentSpec(kind=kind, settings=settings),
        verifier=VerifierSpec(name="expression", settings={"expression": "true"}),
    )


def test_defaults_are_an_empty_page() -> None:
    settings = page_settings(task())
    assert (settings.url, settings.viewport_px, settings.image_format) == ("about:blank", (1280, 720), "png")


def test_lists_from_json_become_sizes() -> None:
    settings = page_settings(task(viewport_px=[300, 200], url="http://example.com/a"))
    assert settings.viewport_px == (300, 200)
    assert settings.address == "http://example.com/a"


def test_an_address_of_a_site_needs_no_port() -> None:
    settings = PageSettings(site="miniwob", url="miniwob/click-test.html")
    assert settings.address == "http://miniwob.localhost/miniwob/click-test.html"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"viewprt_px": [1, 1]}, "did you mean viewport_px"),
        ({"viewport_px": [63, 100]}, "from 64 to 8192"),
        ({"viewport_px": [100]}, "from 64 to 8192"),
        ({"viewport_px": "big"}, "from 64 to 8192"),
        ({"viewport_px": [True, 5]}, "from 64 to 8192"),
        ({"image_format": "gif"}, "png, jpeg or webp"),
        ({"image_quality": 0}, "1 to 100"),
        ({"settle_deadline_ms": -5}, "positive number"),
        ({"load_deadline_s": "soon"}, "positive number"),
        ({"ready": 7}, "text or nothing"),
        ({"restartable": "yes"}, "true or false"),
        ({"url": "file:///etc/passwd"}, "http, https, about or data"),
        ({"url": "chrome://version"}, "http, https, about or data"),
        ({"url": 5}, "must be text"),
        ({"site": "minwob"}, "did you mean miniwob"),
        ({"site": "miniwob", "url": "http://example.com/"}, "not an address inside"),
        ({"address": "x"}, "unknown browser setting"),
    ],
)
def test_wrong_settings_are_refused_with_the_task_and_the_reason(
    settings: dict[str, JsonValue], said: str
) -> None:
    with pytest.raises(InvalidTask, match=said) as caught:
        page_settings(task(**settings))
    assert "browser/test" in str(caught.value)


def test_a_task_for_another_kind_is_refused() -> None:
    with pytest.raises(InvalidTask, match="for a fake sandbox"):
        page_settings(task(kind="fake"))
