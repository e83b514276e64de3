"use strict";
// Pages drawn from a seed, each with something to do. `generated.start` draws one and returns its instruction;
// verifiers read `done`, `won`, `score` and `takeReward`, the oracle asks `next`, and `facts` tells what is on it.

const generated = (() => {
  const TRIES = 60; // pages drawn until one has the wanted thing to do
  const WORKED = [
    "fields", "fields", "checkboxes", "choices", "switches", "sliders", "steppers", "dropdowns", "list",
  ];
  const ENDINGS = ["Submit", "OK", "Save", "Done", "Send", "Apply", "Continue", "Confirm"];
  const PRESSED = new Set([
    "button", "link", "icon", "tab", "item", "checkbox", "radio button", "switch", "field", "section", "list box",
    "plus button", "minus button",
  ]);
  let things = [], work = null, done = false, won = false, taken = 0;

  /** The task is over, once and for all. */
  function end(right) {
    if (!done) won = right;
    done = true;
  }

  function dress(look) {
    const [ground, ink, soft, line, field] = look.ground, [accent, onAccent] = look.accent;
    const dark = ground < "#4";
    const values = {
      "--ground": ground, "--ink": ink, "--soft": soft, "--line": line, "--field": field, "--accent": accent,
      "--on-accent": onAccent, "--link": dark ? "#8cb4ff" : "#0b57d0", "--font": `"${look.font}"`,
      "--link-line": look.bold ? "none" : "underline", "--size": `${look.size}px`, "--radius": `${look.radius}px`,
      "--line-px": `${look.line}px`, "--gap": `${look.gap}px`, "--pad-y": `${look.pad[0]}px`,
      "--pad-x": `${look.pad[1]}px`, "--shadow": look.shadow ? "0 1px 3px rgba(0,0,0,.4)" : "none",
      "--case": look.upper ? "uppercase" : "none", "--spacing": `${look.spacing}px`,
      "--slant": look.slanted ? "italic" : "normal",
    };
    for (const [name, value] of Object.entries(values)) document.body.style.setProperty(name, value);
    document.body.className = `${look.native ? "" : "own"} ${look.bold ? "bold" : ""}`.trim();
    document.body.style.colorScheme = dark ? "dark" : "light";
  }

  function visible(thing) {
    const box = thing.element.getBoundingClientRect(), [x, y] = centre(thing.element);
    if (box.width < 3 || !(box.left >= 0 && box.top >= 0 && x < innerWidth && box.bottom <= innerHeight)) return false;
    return shows(thing.element, x, y);
  }

  function blank(draw) {
    document.querySelector("main")?.remove();
    things = [];
    dress(draw.look);
    return document.body.insertBefore(document.createElement("main"), document.body.firstChild);
  }

  /** What changes with a thing: its list, the radio buttons of its name, or itself alone. */
  const groupOf = ({ role, element }) => (role === "item" ? element.parentElement : element.name || element);

  /** A page of any layout, where one thing is to be pressed; the first click ends it. */
  function press(draw, { by, unseenLayouts }) {
    const main = blank(draw);
    LAYOUTS[layoutOf(draw, unseenLayouts)](draw, things, widgets(draw, things), main);
    const seen = things.filter(visible);
    for (const thing of draw.random.shuffled(seen.filter((each) => PRESSED.has(each.role)))) {
      const ways = descriptions(thing, seen).filter(([kind]) => !by || kind === by);
      if (!ways.length) continue;
      main.addEventListener("click", (event) => {
        if (event.isTrusted) end(thing.element.contains(event.target));
      }, { capture: true });
      return {
        instruction: `${draw.pick(["Click", "Click on", "Press"])} ${draw.pick(ways)[1]}.`,
        progress: () => (won ? 1 : 0),
        next: () => ({ click: centre(thing.element) }),
      };
    }
    return null;
  }

  /** A page of controls, where some are to be set and nothing else changed before its last button is pressed. It
   * stands below them; in an unseen layout beside them. */
  function fillIn(draw, { goals: number, unseenLayouts }) {
    const main = blank(draw), make = widgets(draw, things);
    const place = unseenLayouts ? make.make("div", main, "split") : main;
    const body = make.make("div", place, unseenLayouts ? "grow" : "");
    const last = () => make.button(make.make("div", place, unseenLayouts ? "card column" : "row"), draw.pick(ENDINGS), {
      tone: "",
      act: () => end(met() === number && holds() === begun),
    });
    // beside the others it takes its room before they fill what is left
    const beside = unseenLayouts ? last() : null;
    fill(draw, things, make, body, WORKED, 5);
    const ending = beside ?? last();
    things.push(...things.splice(things.indexOf(ending), 1));
    if (!visible(ending) || !legible(ending)) return null;
    const goals = [], groups = new Set();
    for (const thing of draw.random.shuffled(things.filter((each) => each.role in GOALS && visible(each)))) {
      const goal = groups.has(groupOf(thing)) || !legible(thing) ? null : GOALS[thing.role](draw, thing);
      if (!goal) continue;
      groups.add(groupOf(thing));
      goals.push({ ...goal, thing });
      if (goals.length === number) break;
    }
    if (goals.length < number) return null;
    const kept = things.filter((each) => !groups.has(groupOf(each)));
    const holds = () => kept.map((each) => `${each.state()}|${each.value()}`).join("\n");
    const begun = holds(), met = () => goals.filter((goal) => goal.met()).length;
    return {
      instruction: asked(draw, goals, ending.name),
      progress: () => (won ? 1 : met() / (number + 1)),
      next: () => goals.find((goal) => !goal.met())?.next() ?? { click: centre(ending.element) },
    };
  }

  /** A small page of work in several turns (`workflows.js`, `chains.js`). */
  function workOn(draw, { workflow, long }) {
    const main = blank(draw), make = widgets(draw, things);
    const met = () => Math.min(flow.steps, Math.max(0, flow.met()));
    const last = (right) => end(right && met() === flow.steps);
    const flow = WORKFLOWS[workflow]({ draw, make, place: make.make("div", main), end: last, long });
    if (!flow) return null;
    const ending = flow.ends ? null : make.button(make.make("div", main, "row"), draw.pick(ENDINGS), {
      tone: "",
      act: () => last(true),
    });
    const bottom = (ending?.element ?? main.firstElementChild).getBoundingClientRect().bottom + (flow.room ?? 0);
    if (bottom > innerHeight || main.scrollWidth > main.clientWidth) return null;
    return {
      instruction: ending ? asked(draw, [{ words: flow.words }], ending.name) : `${flow.words}.`,
      score: () => Number(won), // what is half done is worth nothing; the way there has its rewards
      progress: () => (won ? 1 : met() / (flow.steps + 1)),
      next: () => {
        const found = flow.next() ?? ending;
        return found.element ? { click: centre(found.element) } : found;
      },
    };
  }

  const MAKERS = { press, fill: fillIn, work: workOn };

  return {
    /** options: task "press" (by: a kind of description, or any), "fill" (goals: how many) or "work" (workflow,
     * long); split; unseenLayouts: on pages of the test to be pressed or filled in, no layout of training pages. */
    async start(seed, options) {
      done = won = false;
      taken = 0;
      document.activeElement?.blur?.();
      for (let tries = 0; tries < TRIES; tries++) {
        const draw = drawing(chance(`${JSON.stringify(options)}\0${seed}\0${tries}`), options);
        // a page is drawn with its font at once, never with another first
        await document.fonts.load(`16px "${draw.look.font}"`, "a\u0100");
        work = MAKERS[options.task](draw, options);
        if (work) return work.instruction;
      }
      throw new Error(`no page for ${JSON.stringify(options)} in ${TRIES} tries`);
    },
    get done() { return done; },
    get won() { return won; },
    /** 0 to 1. */
    score: () => (work.score ?? work.progress)(),
    /** Progress since the last call. */
    takeReward() {
      const now = work.progress(), reward = now - taken;
      taken = now;
      return reward;
    },
    /** What the oracle does next: {click: [x, y], count} or {type: text}. */
    next() {
      const action = work.next();
      return action.click ? { ...action, click: action.click.map(Math.floor) } : action;
    },
    /** Of everything seen: {role, name, tone, state, value, box, point, descriptions}. */
    facts() {
      const seen = things.filter(visible);
      return seen.map((thing) => {
        const { left, top, right, bottom } = boxOf(thing);
        return {
          role: thing.role, name: thing.name, tone: thing.tone, state: thing.state(), value: thing.value(),
          box: [left, top, Math.min(innerWidth, right), bottom], point: centre(thing.element).map(Math.floor),
          descriptions: descriptions(thing, seen),
        };
      });
    },
  };
})();
