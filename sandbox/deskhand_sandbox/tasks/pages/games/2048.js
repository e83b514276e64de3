"use strict";
// Slide all tiles to one side; equal ones that meet become one of twice the number.
(() => {
  const SIDE = 4;
  const COLOURS = { 2: "#f3ead7", 4: "#efdcb4", 8: "#f0b878", 16: "#ec9658", 32: "#e5734b", 64: "#dd5437", 128: "#e9c652" };
  let tiles, goal, random;

  function spawn() {
    const free = tiles.flatMap((tile, at) => (tile ? [] : [at]));
    tiles[random.pick(free)] = random.next() < 0.9 ? 2 : 4;
  }

  /** A row after sliding to its beginning. */
  function slid(row) {
    const kept = row.filter(Boolean), made = [];
    for (let i = 0; i < kept.length; i++) {
      if (kept[i] === kept[i + 1]) made.push(2 * kept[i++]);
      else made.push(kept[i]);
    }
    return [...made, ...Array(row.length - made.length).fill(0)];
  }

  /** The cells of each line, in the order tiles slide along it. */
  function lines(name) {
    const numbers = [...Array(SIDE).keys()];
    const across = name === "ArrowLeft" || name === "ArrowRight";
    const order = name === "ArrowRight" || name === "ArrowDown" ? numbers.toReversed() : numbers;
    return numbers.map((line) => order.map((i) => (across ? line * SIDE + i : i * SIDE + line)));
  }

  function moved(name) {
    const after = [...tiles];
    for (const line of lines(name)) {
      const row = slid(line.map((at) => tiles[at]));
      line.forEach((at, i) => { after[at] = row[i]; });
    }
    return after;
  }

  const changes = (name) => moved(name).some((tile, at) => tile !== tiles[at]);

  defineGame({
    title: "2048",
    start(source, options) {
      random = source;
      goal = options.goal ?? 64;
      tiles = Array(SIDE * SIDE).fill(0);
      spawn();
      spawn();
      return `Join tiles until there is one of ${goal}: the arrow keys and buttons slide all tiles to one side.`;
    },
    size: () => [SIDE, SIDE],
    cell(x, y) {
      const tile = tiles[y * SIDE + x];
      return { classes: "tile", text: tile || "", style: tile ? { background: COLOURS[tile] ?? "#c8a415" } : null };
    },
    progress: () => (Math.log2(Math.max(...tiles)) - 1) / (Math.log2(goal) - 1),
    over: () => !Object.keys(DIRECTIONS).some(changes),
    key(name) {
      if (!(name in DIRECTIONS) || !changes(name)) return false;
      tiles = moved(name);
      spawn();
      return true;
    },
    click: () => false,
    state: () => ({ side: SIDE, tiles, goal }),
  });
})();
