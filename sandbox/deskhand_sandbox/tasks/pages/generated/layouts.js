"use strict";
// How things are put together to pages. A section is one group of things; a layout places sections until its place
// is full. Layouts, like words, are split: some are seen in tests only.

/** Groups of things, by what they hold. */
function sections(draw, make) {
  const { between, label, word, sentence, number, maybe, pick, random } = draw;
  const some = (low, high, made) => Array.from({ length: between(low, high) }, (_, index) => made(index));
  const group = (parent) => make.make("div", parent, pick(["row", "column", "row"]));
  return {
    buttons: (parent) => {
      const row = group(parent);
      some(1, 4, () => make.button(row, label(2, 10)));
    },
    icons: (parent) => {
      const row = make.make("div", parent, "row");
      const toned = maybe(0.3);
      for (const name of random.shuffled(Object.keys(ICONS)).slice(0, between(2, 6))) {
        make.icon(row, name, toned ? pick(["red", "green", "blue", "orange", "purple"]) : "");
      }
    },
    links: (parent) => {
      const row = group(parent);
      some(1, 4, () => make.link(row, label(2)));
    },
    fields: (parent) => {
      const place = pick(["beside", "above", "inside"]);
      some(1, 3, () => make.field(parent, label(2, 9), { place, value: maybe(0.25) ? word() : "" }));
    },
    area: (parent) => make.field(parent, label(2, 9), { area: true, value: maybe(0.3) ? word() : "" }),
    checkboxes: (parent) => some(1, 4, () => make.checkbox(parent, label(2))),
    choices: (parent) => make.choices(parent, some(2, 4, () => label(1)), `group ${random.next()}`),
    switches: (parent) => some(1, 3, () => make.toggle(parent, label(2, 9))),
    sliders: (parent) => some(1, 2, () => make.slider(parent, word(8))),
    steppers: (parent) => some(1, 2, () => make.stepper(parent, word(8))),
    dropdowns: (parent) => some(1, 2, () => make.dropdown(parent, word(8), some(3, 5, () => word(9)))),
    list: (parent) => make.list(parent, some(2, 6, () => label(2))),
    table: (parent) => {
      const columns = some(2, 3, () => word(8));
      const kinds = columns.map(() => pick(["word", "number"]));
      make.table(parent, columns, some(2, 5, () =>
        kinds.map((kind, index) => (kind === "word" || index === 0 ? word(9) : number(0, 999)))));
    },
    tabs: (parent) => {
      const inner = sections(draw, make);
      make.tabs(parent, some(2, 3, () => word(7)), (panel) => inner[pick(["fields", "checkboxes", "text", "switches"])](panel));
    },
    fold: (parent) => make.fold(parent, label(2), (body) => make.text(body, sentence(between(3, 7)))),
    meter: (parent) => make.meter(parent, word(8)),
    text: (parent) => {
      if (maybe(0.5)) make.heading(parent, label(2));
      make.text(parent, sentence(between(3, 9)));
    },
  };
}

const SECTIONS = [
  "buttons", "buttons", "buttons", "icons", "links", "fields", "fields", "area", "checkboxes", "choices", "switches",
  "sliders", "steppers", "dropdowns", "list", "table", "tabs", "fold", "meter", "text",
];

/** Puts random sections into a place until it is full; `allowed` names which. Takes back what does not fit. */
function fill(draw, things, make, place, allowed = SECTIONS, most = 12) {
  const makers = sections(draw, make), main = document.querySelector("main");
  const fits = () => place.getBoundingClientRect().bottom <= main.getBoundingClientRect().bottom - 2
    && main.scrollWidth <= main.clientWidth && place.scrollWidth <= place.clientWidth + 1;
  for (let added = 0, misses = 0; added < most && misses < 3;) {
    const before = things.length, holder = make.make("div", place);
    makers[draw.pick(allowed)](holder);
    if (fits()) {
      added++;
      continue;
    }
    misses++;
    holder.remove();
    things.length = before;
  }
}

/** Whether a holder found a free place in the room, where it is now; `taken` holds the places of the others. */
function placed(draw, holder, room, taken) {
  const { width, height } = holder.getBoundingClientRect();
  const [right, bottom] = [Math.floor(room.width - width) - 3, Math.floor(room.height - height) - 3];
  if (right < 3 || bottom < 3 || holder.scrollWidth > holder.clientWidth + 1) return false;
  for (let tries = 0; tries < 4; tries++) {
    const [x, y] = [draw.between(3, right), draw.between(3, bottom)];
    const free = taken.every(([left, top, wide, high]) =>
      x > left + wide + 2 || left > x + width + 2 || y > top + high + 2 || top > y + height + 2);
    if (!free) continue;
    taken.push([x, y, width, height]);
    Object.assign(holder.style, { left: `${x}px`, top: `${y}px` });
    return true;
  }
  return false;
}

const LAYOUTS = {
  stack: (draw, things, make, main) => fill(draw, things, make, make.make("div", main)),
  columns: (draw, things, make, main) => {
    const row = make.make("div", main, "split");
    for (let i = 0; i < 2; i++) fill(draw, things, make, make.make("div", row, "grow"), SECTIONS, 5);
  },
  bar: (draw, things, make, main) => {
    const bar = make.make("div", main, "bar");
    make.heading(bar, draw.label(1)).element.style.margin = "0";
    for (let i = draw.between(1, 3); i > 0; i--) {
      make.link(bar, draw.word(7));
      if (main.scrollWidth > main.clientWidth) things.pop().element.remove();
    }
    fill(draw, things, make, make.make("div", main));
  },
  side: (draw, things, make, main) => {
    const row = make.make("div", main, "split"), side = make.make("div", row, "side column");
    for (let i = draw.between(2, 6); i > 0; i--) make.link(side, draw.word(8));
    fill(draw, things, make, make.make("div", row, "grow"));
  },
  cards: (draw, things, make, main) => {
    const grid = make.make("div", main, "grid");
    grid.style.gridTemplateColumns = "1fr ".repeat(draw.between(1, 2));
    for (let i = draw.between(2, 4); i > 0; i--) fill(draw, things, make, make.make("div", grid, "card"), SECTIONS, 2);
  },
  form: (draw, things, make, main) => {
    make.heading(main, draw.label(2));
    const body = make.make("div", main);
    fill(draw, things, make, body, ["fields", "fields", "checkboxes", "choices", "switches", "dropdowns", "area"], 6);
    fill(draw, things, make, make.make("div", main), ["buttons"], 1);
  },
  dialog: (draw, things, make, main) => {
    fill(draw, things, make, make.make("div", main), SECTIONS, 4);
    const names = Array.from({ length: draw.between(1, 3) }, () => draw.label(1, 9));
    make.dialog(draw.label(2), draw.maybe(0.7) ? draw.sentence(draw.between(3, 7)) : "", names);
  },
  // seen in training only: groups anywhere, none over another
  scattered: (draw, things, make, main) => {
    const makers = sections(draw, make), room = main.getBoundingClientRect(), taken = [];
    for (let tries = 0; tries < 14; tries++) {
      const before = things.length, holder = make.make("div", main);
      const most = Math.floor(room.width * (0.4 + 0.55 * draw.random.next()));
      Object.assign(holder.style, { position: "absolute", left: "0", top: "0", width: "max-content", maxWidth: `${most}px` });
      makers[draw.pick(SECTIONS)](holder);
      if (!placed(draw, holder, room, taken)) {
        holder.remove();
        things.length = before;
      }
    }
  },
  // seen in tests only
  rail: (draw, things, make, main) => {
    const row = make.make("div", main, "split"), body = make.make("div", row, "grow");
    fill(draw, things, make, body);
    const rail = make.make("div", row, "card column");
    for (let i = draw.between(1, 3); i > 0; i--) make.button(rail, draw.word(7));
  },
  footed: (draw, things, make, main) => {
    fill(draw, things, make, make.make("div", main), SECTIONS, 3);
    const foot = make.make("div", main, "row");
    Object.assign(foot.style, { position: "absolute", bottom: "0", left: "4px", margin: "4px" });
    for (let i = draw.between(1, 2); i > 0; i--) make.button(foot, draw.label(1, 9));
    make.link(foot, draw.word(8));
  },
};
const LAYOUT_NAMES = {
  train: ["stack", "columns", "bar", "side", "cards", "form", "dialog"],
  test: ["rail", "footed"],
};
/** Of training pages, the share that are `scattered`. */
const SCATTERED = 0.12;

/** Of test pages, the share whose layout training pages have, too. */
const SHARED = 0.3;

/** The name of a page's layout; `unseen`: of test pages, only such as training pages never have. */
function layoutOf(draw, unseen = false) {
  if (draw.split === "train" && draw.maybe(SCATTERED)) return "scattered";
  return draw.pick(LAYOUT_NAMES[draw.split === "train" || (!unseen && draw.maybe(SHARED)) ? "train" : "test"]);
}
