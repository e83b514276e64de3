"use strict";
// Work of several turns on one small page: what is to be done next shows only once the step before is done.
// Each maker puts its things into a place, more of them where it is to be long, and returns, or null where what was
// drawn will not do:
//   words: what is asked for, to which the page's last button is added where there is one;
//   steps, met(): how many there are before the one that ends the task, and how many of them are done;
//   next(): the thing to click, or the action, of the next step; null: only the last button is left;
//   ends: whether a thing of its own ends the task, by `end(right)`, in place of a last button;
//   room: pixels it grows by in height.

const WORKFLOWS = {
  /** What lies over the foot of a page, to be answered before the page works. */
  banner: (stage) => {
    const { draw, make, place, end } = stage, verbs = ["Accept", "Reject"], verb = draw.pick(verbs);
    let answered = false;
    const [wanted] = buttons(stage, 4, () => end(true), () => answered);
    const note = make.make("div", place, "note", `${draw.pick(["Cookies", "This page has cookies"])} `);
    const made = draw.random.shuffled(verbs).map((name) => [name, plain(make, note, name)]);
    for (const [name, { element }] of made) {
      element.style.color = "var(--ink)";
      element.addEventListener("click", () => {
        if (name !== verb) return end(false);
        answered = true;
        note.remove();
      });
    }
    return {
      words: `${verb} the cookies and press ${wanted.name}`,
      steps: 1,
      met: () => Number(answered),
      next: () => (answered ? wanted : made.find(([name]) => name === verb)[1]),
      ends: true,
      room: 4 * draw.look.size,
    };
  },

  /** All buttons of a colour; a pressed one is gone. */
  colors: ({ draw, make, place, end }) => {
    const [tone, ...others] = draw.random.shuffled(["red", "green", "blue", "yellow", "purple"]);
    const number = draw.between(2, 3), row = make.make("div", place, "row"), pressed = new Set();
    const tones = draw.random.shuffled([...some(number, () => tone), ...others.slice(0, 5 - number)]);
    const all = tones.map((each) => make.button(row, draw.label(1, 7), { tone: each }));
    const wanted = all.filter((each) => each.tone === tone);
    for (const each of all) {
      each.element.addEventListener("click", () => {
        if (each.tone !== tone) return end(false);
        each.element.style.visibility = "hidden";
        pressed.add(each);
      });
    }
    return {
      words: `Press every ${tone} button`,
      steps: number,
      met: () => pressed.size,
      next: () => wanted.find((each) => !pressed.has(each)) ?? null,
    };
  },

  /** A menu behind an icon, and one of its items; where it is long, a menu behind each of these. */
  drawer: ({ draw, make, place, end, long }) => {
    const icon = make.icon(make.make("div", place, "row"), "menu"), open = sheets(make, place, long ? 4 : 1);
    const rows = open.all.map((sheet, index) => column(draw, make, sheet, index || long ? 3 : 4));
    const path = [draw.random.below(rows[0].length), ...(long ? [draw.random.below(3)] : [])];
    const wanted = long ? rows[path[0] + 1][path[1]] : rows[0][path[0]];
    icon.element.addEventListener("click", () => open.show(0));
    open.each(rows, (at, index) => (long && at === 0 ? open.show(index + 1) : end(rows[at][index] === wanted)));
    const deep = () => (open.at() === null ? 0 : long && open.at() === path[0] + 1 ? 2 : 1);
    const way = [icon, rows[0][path[0]], ...(long ? [wanted] : [])];
    return {
      words: long
        ? `Open the menu, then ${rows[0][path[0]].name}, and press ${wanted.name}`
        : `Open the menu and press ${wanted.name}`,
      steps: way.length - 1,
      met: deep,
      next: () => (open.at() > 0 && deep() < 2 ? icon : way[deep()]),
      ends: true,
    };
  },

  /** Leaf through pages until the asked one is there. */
  pages: ({ draw, make, place }) => {
    const last = draw.between(4, 6), wanted = draw.between(2, 4);
    const told = make.text(place, ""), row = make.make("div", place, "row");
    let at = 1;
    const leaf = (step) => () => {
      at = Math.min(last, Math.max(1, at + step));
      told.textContent = `Page ${at} of ${last}`;
    };
    const [back, on] = [plain(make, row, "Previous", leaf(-1)), plain(make, row, "Next", leaf(1))];
    leaf(0)();
    return {
      words: `Go to page ${wanted}`,
      steps: wanted - 1,
      met: () => wanted - 1 - Math.abs(wanted - at),
      next: () => (at === wanted ? null : at < wanted ? on : back),
    };
  },

  /** A button, and the question whether one is sure; where it is long, one question more. */
  confirm: (stage) => {
    const { draw, make, end, long } = stage, asked = [];
    const questions = some(long ? 2 : 1, (index) => {
      const yes = draw.pick(["Yes", "OK", "Continue", "Sure"]), no = draw.pick(["No", "Cancel", "Back", "Stop"]);
      return { words: ["Are you sure?", "Really?"][index], yes, names: draw.random.shuffled([yes, no]) };
    });
    const ask = () => {
      const { words, yes, names } = questions[asked.length];
      const answers = make.dialog(words, "", names), last = asked.length === questions.length - 1;
      asked.push(answers[names.indexOf(yes)]);
      answers.forEach((each, index) => each.element.addEventListener("click", () => {
        const right = names[index] === yes;
        if (!right || last) return end(right);
        ask();
      }));
    };
    const [wanted] = buttons(stage, 3, ask);
    return {
      words: `Press ${wanted.name} and confirm it`,
      steps: questions.length,
      met: () => asked.length,
      next: () => asked.at(-1) ?? wanted,
      ends: true,
    };
  },

  /** Messages in front of what is asked for. */
  popup: (stage) => {
    const { draw, make, end, long } = stage;
    const [wanted] = buttons(stage, 4, () => end(true));
    const number = long ? draw.between(3, 4) : draw.between(1, 2), shut = [];
    let closed = 0;
    for (let i = 0; i < number; i++) {
      const name = draw.pick(["Close", "Got it", "Later", "Dismiss"]);
      const [close] = make.dialog(draw.label(1, 8), draw.word(8), [name]);
      close.element.addEventListener("click", () => closed++);
      shut.unshift(close);
    }
    return {
      words: `Press ${wanted.name}`,
      steps: number,
      met: () => closed,
      next: () => shut[closed] ?? wanted,
      ends: true,
    };
  },

  /** One button so many times, and no more. */
  times: (stage) => {
    const wanted = stage.draw.between(2, 4), told = stage.make.text(stage.place, "0");
    let count = 0;
    const [asked] = buttons(stage, 3, () => (told.textContent = String(++count)));
    return {
      words: `Press ${asked.name} ${["two", "three", "four"][wanted - 2]} times`,
      steps: wanted,
      met: () => (count > wanted ? 0 : count),
      next: () => (count < wanted ? asked : null),
    };
  },

  /** Buttons one after another; a pressed one is gone. */
  order: ({ draw, make, place, end, long }) => {
    const number = long ? 4 : draw.between(2, 3), row = make.make("div", place, "row");
    const all = some(long ? 5 : 4, () => make.button(row, draw.label(1, 8)));
    const wanted = draw.random.shuffled(all).slice(0, number);
    let pressed = 0;
    for (const each of all) {
      each.element.addEventListener("click", () => {
        if (each !== wanted[pressed] || pressed === number - 1) return end(each === wanted[pressed]);
        each.element.style.visibility = "hidden";
        pressed++;
      });
    }
    return {
      words: `Press ${wanted.map((each) => each.name).join(", then ")}`,
      steps: number - 1,
      met: () => pressed,
      next: () => wanted[pressed],
      ends: true,
    };
  },

  tick: (stage) => ticked(stage, true),
  untick: (stage) => ticked(stage, false),

  /** Parts that fold away, all to be opened. */
  folds: ({ draw, make, place }) => {
    const all = some(3, () => make.fold(place, draw.label(1, 9), (body) => make.text(body, draw.word(9))));
    const shut = () => all.filter((each) => each.state() === "closed"), steps = shut().length;
    return steps < 2 ? null : {
      words: draw.pick(["Open all sections", "Open every section"]),
      steps,
      met: () => Math.max(0, steps - shut().length),
      next: () => shut()[0] ?? null,
      room: steps * (1.25 * draw.look.size + draw.look.gap + 1),
    };
  },

  /** A part that folds away, and a button in it; where it is long, two of them. */
  section: ({ draw, make, place, end, long }) => {
    const rows = [], inside = (body) => rows.push(column(draw, make, body, 1)[0]);
    const all = some(3, () => make.fold(place, draw.label(1, 9), inside));
    const shut = [0, 1, 2].filter((index) => all[index].state() === "closed"), number = long ? 2 : 1;
    if (shut.length < number) return null;
    const wanted = long ? draw.random.shuffled(shut).slice(0, number) : [draw.pick(shut)];
    const open = (index) => all[index].state() === "open";
    let pressed = 0;
    rows.forEach((each, index) => each.element.addEventListener("click", () => {
      const right = index === wanted[pressed];
      if (!right || pressed === number - 1) return end(right);
      each.element.style.visibility = "hidden";
      pressed++;
    }));
    const told = wanted.map((index) => `${all[index].name} and press ${rows[index].name}`);
    return {
      words: `Open ${told.join(", then open ")}`,
      steps: 2 * number - 1,
      met: () => wanted.filter(open).length + pressed,
      next: () => (open(wanted[pressed]) ? rows[wanted[pressed]] : all[wanted[pressed]]),
      ends: true,
      room: shut.length * (1.25 * draw.look.size + 2 * draw.look.pad[0] + 6),
    };
  },

  /** Buttons of which the next come once one was pressed. */
  steps: ({ draw, make, place, end, long }) => {
    const number = long ? 4 : draw.between(2, 3), open = sheets(make, place, number, 0);
    const rows = open.all.map((sheet) => column(draw, make, sheet)), wanted = rows.map((row) => draw.pick(row));
    open.each(rows, (at, index) => {
      const right = rows[at][index] === wanted[at];
      if (!right || at === number - 1) return end(right);
      open.show(at + 1);
    });
    return {
      words: `Press ${wanted.map((each) => each.name).join(", then ")}`,
      steps: number - 1,
      met: () => open.at(),
      next: () => wanted[open.at()],
      ends: true,
    };
  },

  /** A button, and the one that takes it back. */
  undo: (stage) => {
    const { draw, make, place, end } = stage;
    let pressed = false;
    const [wanted] = buttons(stage, 4, () => {
      pressed = true;
      wanted.element.style.visibility = "hidden";
    });
    const back = plain(make, make.make("div", place, "row"), draw.pick(["Undo", "Take back"]));
    back.element.addEventListener("click", () => pressed && end(true));
    return {
      words: `Press ${wanted.name}, then undo it`,
      steps: 1,
      met: () => Number(pressed),
      next: () => (pressed ? back : wanted),
      ends: true,
    };
  },

  /** Words to type, a button, and what is found. */
  search: ({ draw, make, place, end }) => {
    const wanted = draw.word(7), names = draw.random.shuffled([wanted, draw.word(8), draw.word(8)]);
    const row = make.make("div", place, "row");
    const field = make.field(row, draw.pick(["Search", "Find"]), { place: "inside" });
    field.element.style.width = "6em";
    const go = plain(make, row, "Go", () => {
      under.replaceChildren();
      found = null;
      if (field.value().trim().toLowerCase() !== wanted.toLowerCase()) return make.text(under, "Nothing found");
      const rows = make.list(under, names);
      rows.forEach((each, index) => each.element.addEventListener("click", () => end(names[index] === wanted)));
      found = rows[names.indexOf(wanted)];
    });
    const under = make.make("div", place), typed = GOALS.field({ ...draw, word: () => wanted }, field);
    let found = null;
    return {
      words: `Search for ${wanted} and open it`,
      steps: 2,
      met: () => Number(typed.met()) + Number(found !== null),
      next: () => found ?? (typed.met() ? go : typed.next()),
      ends: true,
      room: 3 * (1.25 * draw.look.size + 2 * draw.look.pad[0] + 2) + 4,
    };
  },

  /** Menus to be opened, one at a time, and an item. */
  menu: ({ draw, make, place, end }) => {
    const bar = make.make("div", place, "row");
    const heads = some(draw.between(2, 3), () => plain(make, bar, draw.word(6)));
    const open = sheets(make, place, heads.length), rows = open.all.map((sheet) => column(draw, make, sheet));
    heads.forEach((head, index) => head.element.addEventListener("click", () => open.show(index)));
    const [wanted, item] = [draw.random.below(heads.length), draw.random.below(3)];
    open.each(rows, (at, index) => end(at === wanted && index === item));
    return {
      words: `Open ${heads[wanted].name} and press ${rows[wanted][item].name}`,
      steps: 1,
      met: () => Number(open.at() === wanted),
      next: () => (open.at() === wanted ? rows[wanted][item] : heads[wanted]),
      ends: true,
    };
  },

  /** Something that lies under one of several tabs; which one is not said. */
  tabs: ({ draw, make, place, end }) => {
    const rows = [], names = some(3, () => draw.word(5));
    const made = make.tabs(place, names, (panel) => rows.push(column(draw, make, panel, 2)));
    const tab = draw.pick([0, 1, 2].filter((index) => made[index].state() === "")), wanted = draw.pick(rows[tab]);
    for (const each of rows.flat()) each.element.addEventListener("click", () => end(each === wanted));
    const open = () => made[tab].state() === "selected";
    return {
      words: `Find ${wanted.name} and press it`,
      steps: 1,
      met: () => Number(open()),
      next: () => (open() ? wanted : made[tab]),
      ends: true,
    };
  },

  /** A list of which a few rows are shown at a time. */
  more: ({ draw, make, place, end }) => {
    const open = sheets(make, place, 3, 0), rows = open.all.map((sheet) => column(draw, make, sheet));
    const foot = make.make("div", place, "row");
    const on = plain(make, foot, draw.pick(["More", "Show more"]), () => open.show((open.at() + 1) % 3));
    const [wanted, row] = [draw.between(1, 2), draw.random.below(3)];
    open.each(rows, (at, index) => end(at === wanted && index === row));
    return {
      words: `Find ${rows[wanted][row].name} and press it`,
      steps: wanted,
      met: () => (open.at() <= wanted ? open.at() : 0),
      next: () => (open.at() === wanted ? rows[wanted][row] : on),
      ends: true,
    };
  },

  /** A choice on each of two sheets. */
  wizard: ({ draw, make, place }) => {
    const open = sheets(make, place, 2, 0);
    const made = open.all.map((sheet, index) => make.choices(sheet, some(3, () => draw.label(1, 9)), `sheet ${index}`));
    const wanted = made.map((choices) => draw.pick(choices.filter((each) => each.state() === "off")));
    const foot = make.make("div", open.all[0], "row");
    const on = plain(make, foot, "Next", () => open.show(1));
    const chosen = (index) => wanted[index].state() === "on";
    return {
      words: `Choose ${wanted[0].name}, then ${wanted[1].name}`,
      steps: 3,
      met: () => Number(chosen(0)) + Number(chosen(1)) + open.at(),
      next: () => (open.at() ? (chosen(1) ? null : wanted[1]) : chosen(0) ? on : wanted[0]),
    };
  },

  /** Rows with a button each that takes them away. */
  remove: (stage) => {
    const icon = stage.draw.pick(["close", "delete"]), gone = ({ line }) => (line.style.visibility = "hidden");
    return rowsPressed(stage, "Remove", (line) => stage.make.icon(line, icon), gone);
  },

  /** Rows with a button each that adds them. */
  cart: (stage) => rowsPressed(
    stage,
    stage.draw.pick(["Add", "Order"]),
    (line) => plain(stage.make, line, "+"),
    ({ thing }) => (thing.element.textContent = "✓"),
  ),

  /** A number by its digits. */
  keypad: ({ draw, make, place }) => {
    const wanted = String(draw.between(10, 99)), told = make.text(place, "–"), keys = {};
    let typed = "";
    for (const line of ["123", "456", "789", "C0"]) {
      const row = make.make("div", place, "row");
      row.style.marginBottom = "1px";
      for (const key of line) {
        keys[key] = plain(make, row, key, () => {
          typed = key === "C" ? "" : (typed + key).slice(0, 4);
          told.textContent = typed || "–";
        });
      }
    }
    const right = () => wanted.startsWith(typed);
    return {
      words: `Enter ${wanted}`,
      steps: 2,
      met: () => (right() ? typed.length : 0),
      next: () => (typed === wanted ? null : right() ? keys[wanted[typed.length]] : keys.C),
    };
  },

  /** Pictures one after another. */
  slides: ({ draw, make, place }) => {
    const names = draw.random.shuffled(Object.keys(ICONS).filter((name) => name !== "forward" && name !== "back"));
    const open = sheets(make, place, 4, 0), wanted = draw.between(1, 3);
    open.all.forEach((sheet, index) => (make.icon(sheet, names[index]).element.style.fontSize = "24px"));
    const on = make.icon(make.make("div", place, "row"), "forward");
    on.element.addEventListener("click", () => open.show((open.at() + 1) % 4));
    return {
      words: `Go on to the ${names[wanted]} icon`,
      steps: wanted,
      met: () => (open.at() <= wanted ? open.at() : 0),
      next: () => (open.at() === wanted ? null : on),
    };
  },

  /** A value that is another one after each press. */
  cycle: ({ draw, make, place }) => {
    const names = some(draw.between(3, 4), () => draw.word(7)), called = draw.word(6);
    const wanted = draw.between(1, names.length - 1);
    let at = 0;
    const told = make.text(place, `${called}: ${names[0]}`);
    const change = plain(make, make.make("div", place, "row"), draw.pick(["Change", "Switch"]), () => {
      at = (at + 1) % names.length;
      told.textContent = `${called}: ${names[at]}`;
    });
    return {
      words: `Set ${called} to ${names[wanted]}`,
      steps: wanted,
      met: () => (at <= wanted ? at : 0),
      next: () => (at === wanted ? null : change),
    };
  },

  /** Buttons that do nothing before the lock is open. */
  lock: (stage) => {
    const { make, place, end } = stage, lock = make.icon(make.make("div", place, "row"), "lock");
    let open = false;
    lock.element.addEventListener("click", () => {
      open = true;
      lock.element.style.visibility = "hidden";
    });
    const [wanted] = buttons(stage, 4, () => end(true), () => open);
    return {
      words: `Unlock the page and press ${wanted.name}`,
      steps: 1,
      met: () => Number(open),
      next: () => (open ? wanted : lock),
      ends: true,
    };
  },

  /** A message that comes of a button, to be closed. */
  notice: (stage) => {
    const { draw, make, place, end } = stage, told = draw.word(8);
    let close = null;
    const [wanted] = buttons(stage, 4, () => {
      if (close) return;
      close = make.icon(make.make("div", place, "note", `${told} `), "close");
      close.element.style.color = "var(--ink)";
      close.element.addEventListener("click", () => end(true));
    });
    return {
      words: `Press ${wanted.name} and close the message`,
      steps: 1,
      met: () => Number(close !== null),
      next: () => close ?? wanted,
      ends: true,
    };
  },

  /** A table to be sorted by a column, and its first row then. */
  sort: ({ draw, make, place, end }) => {
    const columns = some(2, () => draw.word(6)), wanted = draw.random.below(2);
    const values = columns.map(() => draw.random.shuffled(some(90, (index) => index + 10)).slice(0, 3));
    const cells = make.table(place, columns, some(3, (row) => values.map((column) => String(column[row]))));
    const heads = [...place.querySelectorAll("th")], lines = cells.map(([first]) => first.element.parentElement);
    const sorted = (column) => [0, 1, 2].sort((a, b) => values[column][a] - values[column][b]);
    const [first] = sorted(wanted);
    if (first === 0) return null;
    let by = null;
    heads.forEach((head, column) => head.addEventListener("click", () => {
      by = column;
      heads.forEach((each, index) => (each.textContent = `${columns[index]}${index === column ? " ▾" : ""}`));
      lines[0].parentElement.replaceChildren(...sorted(column).map((row) => lines[row]));
    }));
    lines.forEach((line, row) => line.addEventListener("click", () => end(by === wanted && row === first)));
    return {
      words: `Sort by ${columns[wanted]} and click the first row`,
      steps: 1,
      met: () => Number(by === wanted),
      next: () => (by === wanted ? cells[first][0] : { element: heads[wanted] }),
      ends: true,
    };
  },
};

const some = (number, made) => Array.from({ length: number }, (_, index) => made(index));

/** A button without a colour of its own. */
const plain = (make, parent, name, act = () => {}) => make.button(parent, name, { tone: "", act });

/** Buttons in any order; the first returned is to be pressed, another ends the task. `may`: when they work. */
function buttons({ draw, make, place, end }, number, act, may = () => true) {
  const row = make.make("div", place, draw.pick(["row", "column"]));
  const made = draw.random.shuffled(some(number, () => make.button(row, draw.label(1, 8))));
  made.forEach((each, index) => each.element.addEventListener("click", () => {
    if (may()) index ? end(false) : act();
  }));
  return made;
}

/** Buttons one below another. */
const column = (draw, make, parent, number = 3) =>
  some(number, () => plain(make, make.make("div", parent), draw.label(1, 9)));

/** Parts in one place, of which one is shown, or none; room is kept for the largest. */
function sheets(make, place, number, first = null) {
  const holder = make.make("div", place, "sheets"), all = some(number, () => make.make("div", holder));
  let shown = null;
  const show = (index) => {
    shown = index;
    all.forEach((each, other) => (each.style.visibility = other === index ? "" : "hidden"));
  };
  show(first);
  return {
    all,
    show,
    at: () => shown,
    /** Has a click on a thing told as its sheet's number and its own. */
    each: (things, told) => things.forEach((row, at) => row.forEach((thing, index) =>
      thing.element.addEventListener("click", () => told(at, index)))),
  };
}

/** Checkboxes that are all to be on, or off. */
function ticked({ draw, make, place }, on) {
  const all = some(draw.between(3, 5), () => make.checkbox(place, draw.label(1, 9), draw.maybe(0.5)));
  const left = () => all.filter((each) => (each.state() === "on") !== on), steps = left().length;
  return steps < 2 ? null : {
    words: draw.pick(on ? ["Tick all boxes", "Check every box"] : ["Untick all boxes", "Uncheck every box"]),
    steps,
    met: () => Math.max(0, steps - left().length),
    next: () => left()[0] ?? null,
  };
}

/** Rows of a name and a button each, some of which are to be pressed, each once; another ends the task. */
function rowsPressed({ draw, make, place, end, long }, verb, button, after) {
  const all = some(4, () => {
    const line = make.make("div", place, "field"), name = draw.label(1, 9);
    make.make("span", line, "name", name);
    return { line, name, thing: button(line) };
  });
  const wanted = draw.random.shuffled(all).slice(0, long ? 3 : draw.between(1, 2)), pressed = new Set();
  for (const each of all) {
    each.thing.element.addEventListener("click", () => {
      if (!wanted.includes(each) || pressed.has(each)) return end(false);
      pressed.add(each);
      after(each);
    });
  }
  return {
    words: `${verb} ${listed(wanted.map((each) => each.name))}`,
    steps: wanted.length,
    met: () => pressed.size,
    next: () => wanted.find((each) => !pressed.has(each))?.thing ?? null,
  };
}
