"use strict";
// Open every cell without a mine; a number says how many mines are around. A first field is open.
(() => {
  const SIDE = 8;
  const COLOURS = ["", "#2f5fb0", "#2f7d6b", "#b8432f", "#5b3f94", "#8a4b1f", "#1f7d8a", "#333", "#777"];
  let mines, opened, flags, cursor, hit, given;
  const at = (x, y) => y * SIDE + x;

  function around(x, y) {
    const found = [];
    for (let dy = -1; dy <= 1; dy++) {
      for (let dx = -1; dx <= 1; dx++) {
        const [a, b] = [x + dx, y + dy];
        if ((dx || dy) && a >= 0 && b >= 0 && a < SIDE && b < SIDE) found.push([a, b]);
      }
    }
    return found;
  }

  const count = (x, y) => around(x, y).filter(([a, b]) => mines.has(at(a, b))).length;

  function open(x, y) {
    if (opened.has(at(x, y)) || flags.has(at(x, y))) return false;
    if (mines.has(at(x, y))) { hit = at(x, y); return true; }
    const waiting = [[x, y]];
    while (waiting.length) {
      const [a, b] = waiting.pop();
      if (opened.has(at(a, b))) continue;
      opened.add(at(a, b));
      flags.delete(at(a, b));
      if (count(a, b) === 0) waiting.push(...around(a, b));
    }
    return true;
  }

  function flag(x, y) {
    if (opened.has(at(x, y))) return false;
    if (!flags.delete(at(x, y))) flags.add(at(x, y));
    return true;
  }

  defineGame({
    title: "Minesweeper",
    start(random, options) {
      const number = options.mines ?? 9;
      do {
        const first = [1 + random.below(SIDE - 2), 1 + random.below(SIDE - 2)];
        const kept = new Set([first, ...around(...first)].map(([x, y]) => at(x, y)));
        const places = [...Array(SIDE * SIDE).keys()].filter((place) => !kept.has(place));
        mines = new Set(random.shuffled(places).slice(0, number));
        [opened, flags, hit, cursor] = [new Set(), new Set(), null, first];
        open(...first);
        given = opened.size;
      } while (given + number === SIDE * SIDE); // nothing would be left to do
      return `Open every cell without one of the ${number} mines: click, or move with the arrow keys and press space. A right click or F marks a mine.`;
    },
    size: () => [SIDE, SIDE],
    cell(x, y) {
      const mark = cursor[0] === x && cursor[1] === y ? " cursor" : "";
      if (hit !== null && mines.has(at(x, y))) return { classes: `mine${mark}`, text: "✹" };
      if (!opened.has(at(x, y))) return { classes: `covered${flags.has(at(x, y)) ? " flag" : ""}${mark}` };
      return { classes: `open${mark}`, text: count(x, y) || "", style: { color: COLOURS[count(x, y)] } };
    },
    progress: () => (opened.size - given) / (SIDE * SIDE - mines.size - given),
    over: () => hit !== null,
    key(name) {
      if (name in DIRECTIONS) {
        const [x, y] = [cursor[0] + DIRECTIONS[name][0], cursor[1] + DIRECTIONS[name][1]];
        if (x < 0 || y < 0 || x >= SIDE || y >= SIDE) return false;
        cursor = [x, y];
        return true;
      }
      if (name === " " || name === "Enter") return open(...cursor);
      return name.toLowerCase() === "f" ? flag(...cursor) : false;
    },
    click(x, y, button) {
      cursor = [x, y];
      return button === "right" ? flag(x, y) : open(x, y);
    },
    state: () => ({ side: SIDE, mines: [...mines], opened: [...opened] }),
  });
})();
