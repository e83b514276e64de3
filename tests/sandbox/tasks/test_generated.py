"""Generated pages in a real browser: solvable, the same for a seed, and split into what tests alone show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.generated import PROVEN, is_test_word, make, next_actions
from deskhand_sandbox.tasks.layout import page_layout
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Click, Navigate, Outcome, Split

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

Play = Callable[[str, int], Awaitable[tuple[Outcome, float, int]]]
FEW = ("generated/fill-2", "generated/fill-4-large", "generated/press", "generated/press-color-wide")
WORDS = "[VOCABULARY.train, VOCABULARY.test].map((each) => Object.values(each).flat())"
FONT = "document.body.style.getPropertyValue('--font').replaceAll('\"', '')"
LAYOUTS = """(() => {
  const drawn = (split, unseen) => Array.from({ length: 300 }, (_, seed) =>
    layoutOf(drawing(chance(`${seed}`), { split }), unseen));
  return { train: drawn("train", true), test: drawn("test", false), unseen: drawn("test", true) };
})()"""
NOTE_LAYOUTS = """(() => {
  for (const [name, lay] of Object.entries(LAYOUTS)) {
    LAYOUTS[name] = (...told) => { globalThis.laid = name; lay(...told); };
  }
})()"""
SHADES = """generated.facts().map((fact) => {
  const style = getComputedStyle(document.elementFromPoint(...fact.point).closest("button") ?? document.body);
  const color = style[fact.role === "icon" ? "color" : "backgroundColor"];
  return { ...fact, shades: color.match(/\\d+/g).map(Number) };
})"""


def verifier() -> Any:
    return create_verifier(make_task("generated/press", 0).verifier)


async def draw(sandbox: Sandbox, task_id: str, seed: int) -> str:
    """Draw a seed's page in the place of another of its task's, as its start does; the instruction."""
    start = make_task(task_id, seed).environment.settings["start"]
    return str(await sandbox.evaluate(f"({start})({seed})"))


@pytest.mark.parametrize("task_id", FEW)
async def test_the_oracle_wins(play: Play, task_id: str) -> None:
    for seed in range(3):
        outcome, rewards, _ = await play(task_id, seed)
        assert (outcome.success, rewards) == (True, pytest.approx(1.0)), seed


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("task_id", PROVEN)
async def test_the_oracle_wins_on_many_seeds(play: Play, task_id: str) -> None:
    lost = [seed for seed in range(100, 125) if not (await play(task_id, seed))[0].success]
    assert lost == []


async def test_a_seed_means_one_page(sandbox: Sandbox) -> None:
    seen = set[str]()
    for seed in (3, 4):
        first = await sandbox.reset(make_task("generated/press", seed))
        await sandbox.act(Click(x=80, y=40))
        again = await sandbox.reset(make_task("generated/press", seed))
        assert first.instruction == again.instruction
        assert first.observation.screenshot.digest == again.observation.screenshot.digest
        seen.add(first.observation.screenshot.digest)
    assert len(seen) == 2


async def test_words_fonts_and_layouts_of_the_test_are_seen_nowhere_else(sandbox: Sandbox) -> None:
    await sandbox.reset(make_task("generated/press", 0))
    train, test = await sandbox.evaluate(WORDS)  # type: ignore[misc]
    assert not {w.lower() for w in train} & {w.lower() for w in test}
    assert len(test) > 1000
    fonts: Any = await sandbox.evaluate("[FONTS.train, FONTS.test, LAYOUT_NAMES.train, LAYOUT_NAMES.test]")
    assert not set(fonts[0]) & set(fonts[1])
    assert not set(fonts[2]) & set(fonts[3])
    assert all(map(is_test_word, test)) and not any(map(is_test_word, train))
    drawn: Any = await sandbox.evaluate(LAYOUTS)
    assert set(drawn["train"]) == {*fonts[2], "scattered"}
    assert set(drawn["unseen"]) == set(fonts[3])
    # of test pages as they come, three of ten have one that training pages have, too
    assert 0.2 < sum(name in fonts[2] for name in drawn["test"]) / len(drawn["test"]) < 0.4
    for split, known in ((Split.TRAIN, fonts[0]), (Split.TEST, fonts[1])):
        for seed in seeds("generated/press", split, 4):
            await draw(sandbox, "generated/press", seed)
            assert await sandbox.evaluate(FONT) in known


async def test_pages_are_as_ever_unless_unseen_layouts_are_asked_for(sandbox: Sandbox) -> None:
    for name in ("press", "press-wide", "fill-2"):
        task_id = f"generated/{name}"
        for split in Split:
            for seed in seeds(task_id, split, 2):
                asked, usual = make(task_id, seed, unseen_layouts=True), make_task(task_id, seed)
                assert (asked == usual) is (split is not Split.TEST)
                assert "unseen" not in str(usual.environment.settings)
    await sandbox.reset(make_task("generated/press", 0))
    await sandbox.evaluate(NOTE_LAYOUTS)
    unseen: Any = await sandbox.evaluate("LAYOUT_NAMES.test")
    for seed in seeds("generated/press", Split.TEST, 12):
        start = make("generated/press", seed, unseen_layouts=True).environment.settings["start"]
        await sandbox.evaluate(f"({start})({seed})")
        assert await sandbox.evaluate("laid") in unseen


async def test_a_form_of_an_unseen_layout_has_its_last_button_beside_it_and_can_be_done(
    sandbox: Sandbox,
) -> None:
    for name in ("fill-1", "fill-4", "fill-2-large"):
        for seed in seeds(f"generated/{name}", Split.TEST, 3):
            task = make(f"generated/{name}", seed, unseen_layouts=True)
            await sandbox.reset(task)
            facts: Any = await sandbox.evaluate("generated.facts()")
            assert facts[-1]["box"][0] > max(fact["point"][0] for fact in facts[:-1])
            for turn in range(task.limits.turns):
                for action in await next_actions(task, sandbox, turn):
                    await sandbox.act(action)
                if (await verifier().step_reward(sandbox)).terminated:
                    break
            assert (await verifier().score(sandbox, answer=None)).success, task


async def test_half_of_the_words_of_training_are_coined_and_none_is_of_the_test(sandbox: Sandbox) -> None:
    await sandbox.reset(make_task("generated/press", 0))
    told: Any = await sandbox.evaluate(
        """(() => {
          const known = new Set(Object.values(VOCABULARY.train).flat().map((word) => word.toLowerCase()));
          const found = [];
          for (let seed = 0; seed < 200; seed++) {
            const draw = drawing(chance(`${seed}`), { split: "train" });
            for (let i = 0; i < 5; i++) found.push(draw.word());
          }
          const coined = found.filter((word) => !known.has(word.toLowerCase()));
          const long = found.filter((word) => word.length > 12);
          return [coined.length / found.length, coined.filter(isTestWord), long];
        })()"""
    )
    share, of_the_test, long = told
    assert 0.4 < share < 0.55 and of_the_test == [] and long == []


async def test_training_pages_have_grounds_of_any_hue_on_which_their_words_can_be_read(
    sandbox: Sandbox,
) -> None:
    await sandbox.reset(make_task("generated/press", 0))
    told: Any = await sandbox.evaluate(
        """(() => {
          const light = (colour) => {
            const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
            const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const contrast = (one, other) => {
            const [dark, pale] = [light(one), light(other)].sort((a, b) => a - b);
            return (pale + 0.05) / (dark + 0.05);
          };
          const grounds = { train: [], test: [] };
          for (const split of ["train", "test"])
            for (let seed = 0; seed < 300; seed++)
              grounds[split].push(drawing(chance(`${seed}`), { split }).look.ground);
          const listed = new Set(GROUNDS.train.map(String));
          const own = grounds.train.filter((ground) => !listed.has(String(ground)));
          return {
            share: own.length / 300,
            form: own.flat().filter((colour) => !/^#[0-9a-f]{6}$/.test(colour)),
            ink: Math.min(...own.map(([ground, ink]) => contrast(ground, ink))),
            soft: Math.min(...own.map(([ground, , soft]) => contrast(ground, soft))),
            field: Math.min(...own.map(([, ink, , , field]) => contrast(field, ink))),
            dark: own.filter(([ground]) => ground < "#4").length / own.length,
            darker: own.filter(([ground]) => (ground < "#4") !== (light(ground) < 0.2)).length,
            test: grounds.test.filter((ground) => !GROUNDS.test.includes(ground)).length,
          };
        })()"""
    )
    assert 0.4 < told["share"] < 0.6 and told["form"] == []
    assert told["ink"] > 7 and told["soft"] > 2.5 and told["field"] > 7
    assert 0.2 < told["dark"] < 0.4 and told["darker"] == 0
    assert told["test"] == 0


async def test_groups_of_a_scattered_page_lie_apart_and_within_it(sandbox: Sandbox) -> None:
    await sandbox.reset(make_task("generated/press-wide", 0))
    told: Any = await sandbox.evaluate(
        """(() => {
          const found = { pages: 0, groups: 0, outside: 0, over: 0, test: 0 };
          const main = document.querySelector("main");
          for (let seed = 0; seed < 40; seed++) {
            const draw = drawing(chance(`${seed}`), { split: "train" });
            const things = [];
            main.replaceChildren();
            LAYOUTS.scattered(draw, things, widgets(draw, things), main);
            const boxes = [...main.children].map((each) => each.getBoundingClientRect());
            found.pages += boxes.length > 1;
            found.groups += boxes.length;
            found.outside += boxes.filter((b) => b.left < 0 || b.top < 0 || b.right > innerWidth
              || b.bottom > innerHeight).length;
            boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
              found.over += a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            }));
            found.test += layoutOf(drawing(chance(`${seed}`), { split: "test" })) === "scattered";
          }
          return found;
        })()"""
    )
    assert told["pages"] > 35 and told["groups"] > 150
    assert told["outside"] == 0 and told["over"] == 0 and told["test"] == 0


async def test_facts_say_where_everything_is(sandbox: Sandbox) -> None:
    kinds = set[str]()
    await sandbox.reset(make_task("generated/press-large", 0))
    for seed in range(12):
        await draw(sandbox, "generated/press-large", seed)
        facts: Any = await sandbox.evaluate("generated.facts()")
        assert facts
        for fact in facts:
            left, top, right, bottom = fact["box"]
            x, y = fact["point"]
            assert 0 <= left <= x <= right <= 448
            assert 0 <= top <= y <= bottom <= 448
            kinds.update(kind for kind, _ in fact["descriptions"])
    assert kinds == {"text", "role", "color", "ordinal", "relation"}


async def test_no_other_looks_as_if_of_the_colour_a_thing_is_pointed_out_by(sandbox: Sandbox) -> None:
    told = 0
    await sandbox.reset(make_task("generated/press-color-large", 0))
    for seed in range(40):
        await draw(sandbox, "generated/press-color-large", seed)
        facts: Any = await sandbox.evaluate(SHADES)
        for fact in facts:
            if any(kind == "color" for kind, _ in fact["descriptions"]):
                told += 1
                like = [each for each in facts if each["role"] == fact["role"]]
                apart = [
                    max(abs(one - other) for one, other in zip(each["shades"], fact["shades"], strict=True))
                    for each in like
                    if each is not fact
                ]
                assert not apart or min(apart) >= 32, (seed, fact["descriptions"])
    assert told > 40


@pytest.mark.parametrize(
    ("task_id", "seed"),
    [
        ("generated/press", 464),  # what stands beside a card lies under it
        ("generated/press", 247),  # a list cuts off its rows
        ("generated/press", 87),  # a field's value hides the name in it
        ("generated/fill-1", 162),
        ("generated/fill-3", 32),
    ],
)
async def test_nothing_is_called_by_a_name_that_cannot_be_read(
    sandbox: Sandbox, task_id: str, seed: int
) -> None:
    instruction = (await sandbox.reset(make_task(task_id, seed))).instruction
    words: dict[int, str] = {}
    for each in (await page_layout(sandbox)).characters:
        words[each.word] = words.get(each.word, "") + each.character
    written = {text.removesuffix(":") for text in words.values()}
    facts: Any = await sandbox.evaluate("generated.facts()")
    names = {fact["name"] for fact in facts if fact["role"] != "icon"}
    unread = {name for name in names if not set(name.split()) <= written}
    assert unread
    told = [words for fact in facts for _, words in fact["descriptions"]]
    for name in unread:
        assert not [words for words in (*told, instruction) if name in words]
    for fact in facts:
        if fact["name"] in written:
            assert {kind for kind, _ in fact["descriptions"]} & {"text", "role"}, fact


async def test_a_list_box_says_what_is_chosen_in_the_letters_of_its_menu(sandbox: Sandbox) -> None:
    await sandbox.reset(make_task("generated/press", 45))
    assert await sandbox.evaluate("document.body.style.getPropertyValue('--case')") == "uppercase"
    facts: Any = await sandbox.evaluate("generated.facts()")
    for fact in [each for each in facts if each["role"] == "list box"]:
        shown = f"document.elementFromPoint(...{fact['point']}).innerText"
        assert await sandbox.evaluate(shown) == f"{fact['value']} ▾"


async def test_another_thing_pressed_is_lost(sandbox: Sandbox) -> None:
    task = make_task("generated/press-large", 2)
    await sandbox.reset(task)
    await sandbox.act(Click(x=447, y=447))
    outcome = await verifier().score(sandbox, answer=None)
    assert (outcome.success, outcome.score) == (False, 0.0)
    assert (await verifier().step_reward(sandbox)).terminated


async def test_ending_a_form_too_early_is_lost_and_counts_what_was_done(sandbox: Sandbox) -> None:
    task = make_task("generated/fill-3-wide", 5)
    await sandbox.reset(task)
    while await sandbox.evaluate("generated.score()") == 0:
        for action in await next_actions(task, sandbox, 0):
            await sandbox.act(action)
    ending: Any = await sandbox.evaluate("generated.facts().at(-1).point")
    await sandbox.act(Click(x=ending[0], y=ending[1]))
    assert (await verifier().step_reward(sandbox)).terminated
    assert await verifier().score(sandbox, answer=None) == Outcome(
        score=0.25, success=False, detail="lost, score 0.25"
    )


@pytest.mark.parametrize("role", ["checkbox", "switch", "plus button", "radio button", "item"])
async def test_what_was_not_asked_for_must_stay_as_it_was(sandbox: Sandbox, role: str) -> None:
    await sandbox.reset(make_task("generated/fill-1-large", 0))
    for seed in range(40):
        task = make_task("generated/fill-1-large", seed)
        instruction = await draw(sandbox, task.id, seed)
        facts: Any = await sandbox.evaluate("generated.facts()")
        like = [fact for fact in facts if fact["role"] == role]
        others = [fact["point"] for fact in like if fact["state"] not in ("on", "selected")]
        if others and not any(fact["name"] in instruction for fact in like):
            break
    else:
        pytest.fail("no page of forty has a thing that was not asked for")
    await sandbox.act(Click(x=others[0][0], y=others[0][1]))
    assert await sandbox.evaluate("generated.facts()") != facts
    for turn in range(task.limits.turns):
        for action in await next_actions(task, sandbox, turn):
            await sandbox.act(action)
        if (await verifier().step_reward(sandbox)).terminated:
            break
    assert await verifier().score(sandbox, answer=None) == Outcome(
        score=0.5, success=False, detail="lost, score 0.5"
    )


async def test_an_agent_that_leaves_the_page_has_done_nothing(sandbox: Sandbox) -> None:
    task = make_task("generated/press", 1)
    await sandbox.reset(task)
    await sandbox.act(Navigate(url="about:blank"))
    assert not (await verifier().score(sandbox, answer=None)).success
    with pytest.raises(InfrastructureError, match="not the task's"):
        await next_actions(task, sandbox, 0)


async def test_what_is_done_after_the_end_of_a_form_no_longer_counts(sandbox: Sandbox) -> None:
    task = make_task("generated/fill-1", 3)
    await sandbox.reset(task)
    ending: Any = await sandbox.evaluate("generated.facts().at(-1).point")
    await sandbox.act(Click(x=ending[0], y=ending[1]))
    for turn in range(task.limits.turns):
        for action in await next_actions(task, sandbox, turn):
            await sandbox.act(action)
    assert await verifier().score(sandbox, answer=None) == Outcome(
        score=0.5, success=False, detail="lost, score 0.5"
    )
