"use strict";
// Slide tiles into the gap until they stand in order.
(() => {
  const SIDE = 3;
  let tiles, scrambled;
  const solved = () => tiles.every((tile, at) => tile === (at + 1) % tiles.length);
  const blank = () => { const at = tiles.indexOf(0); return [at % SIDE, Math.floor(at / SIDE)]; };

  /** Steps all tiles together are from home. */
  function away() {
    return tiles.reduce((sum, tile, at) => {
      if (!tile) return sum;
      const home = tile - 1;
      return sum + Math.abs((home % SIDE) - (at % SIDE)) + Math.abs(Math.floor(home / SIDE) - Math.floor(at / SIDE));
    }, 0);
  }

  function scramble(random, steps) {
    tiles = [...Array(SIDE * SIDE).keys()].map((at) => (at + 1) % (SIDE * SIDE));
    let before = null;
    for (let i = 0; i < steps || solved(); i++) {
      const [x, y] = blank();
      const choices = Object.values(DIRECTIONS)
        .map(([dx, dy]) => [x + dx, y + dy])
        .filter(([a, b]) => a >= 0 && b >= 0 && a < SIDE && b < SIDE && `${[a, b]}` !== `${before}`);
      before = [x, y];
      slide(...random.pick(choices));
    }
  }

  function slide(x, y) {
    const [bx, by] = blank();
    if (x < 0 || y < 0 || x >= SIDE || y >= SIDE || Math.abs(x - bx) + Math.abs(y - by) !== 1) return false;
    [tiles[by * SIDE + bx], tiles[y * SIDE + x]] = [tiles[y * SIDE + x], 0];
    return true;
  }

  defineGame({
    title: "Sliding puzzle",
    start(random, options) {
      do scramble(random, options.steps ?? 16);
      while (options.split && splitOf(`sliding\0${tiles}`) !== options.split);
      scrambled = away();
      return "Slide the tiles until they stand in order from 1 to 8, with the gap at the end.";
    },
    size: () => [SIDE, SIDE],
    cell(x, y) {
      const tile = tiles[y * SIDE + x];
      return { classes: tile ? "tile" : "tile blank", text: tile || "" };
    },
    progress: () => (solved() ? 1 : Math.min(0.99, 1 - away() / scrambled)),
    over: () => false,
    key(name) {
      const step = DIRECTIONS[name];
      if (!step) return false;
      const [x, y] = blank();
      return slide(x - step[0], y - step[1]);
    },
    click: (x, y) => slide(x, y),
    state: () => ({ side: SIDE, tiles }),
  });
})();
