"use strict";
// Walk from the corner to the flag. Every two places are joined by one way (a depth-first maze).
(() => {
  let size, open, player, goal, distance, farthest;
  const at = (x, y) => y * size + x;
  const joined = (x, y, dx, dy) => open.has(`${x},${y},${x + dx},${y + dy}`);

  function carve(random) {
    open = new Set();
    const seen = new Set(["0,0"]), path = [[0, 0]];
    while (path.length) {
      const [x, y] = path.at(-1);
      const next = random
        .shuffled(Object.values(DIRECTIONS))
        .map(([dx, dy]) => [x + dx, y + dy])
        .find(([a, b]) => a >= 0 && b >= 0 && a < size && b < size && !seen.has(`${a},${b}`));
      if (!next) { path.pop(); continue; }
      seen.add(`${next}`);
      open.add(`${x},${y},${next}`).add(`${next},${x},${y}`);
      path.push(next);
    }
  }

  function measure() {
    distance = new Array(size * size).fill(Infinity);
    distance[at(...goal)] = 0;
    const waiting = [goal];
    for (const [x, y] of waiting) {
      for (const [dx, dy] of Object.values(DIRECTIONS)) {
        if (joined(x, y, dx, dy) && distance[at(x + dx, y + dy)] === Infinity) {
          distance[at(x + dx, y + dy)] = distance[at(x, y)] + 1;
          waiting.push([x + dx, y + dy]);
        }
      }
    }
    farthest = distance[at(...player)];
  }

  defineGame({
    title: "Maze",
    start(random, options) {
      size = options.size ?? 8;
      carve(random);
      player = [0, 0];
      goal = random.pick([[size - 1, size - 1], [0, size - 1], [size - 1, 0]]);
      measure();
      return "Walk through the maze to the flag, with the arrow keys or the buttons.";
    },
    size: () => [size, size],
    cell(x, y) {
      const line = "2px solid var(--wall)", style = {};
      const sides = { Top: [0, -1], Bottom: [0, 1], Left: [-1, 0], Right: [1, 0] };
      for (const [side, [dx, dy]] of Object.entries(sides)) {
        style[`border${side}`] = joined(x, y, dx, dy) ? "2px solid transparent" : line;
      }
      const here = (place) => place[0] === x && place[1] === y;
      return { classes: `${here(player) ? "player" : ""} ${here(goal) ? "flag" : ""}`, style };
    },
    progress: () => 1 - distance[at(...player)] / farthest,
    over: () => false,
    key(name) {
      const step = DIRECTIONS[name];
      if (!step || !joined(...player, ...step)) return false;
      player = [player[0] + step[0], player[1] + step[1]];
      return true;
    },
    click(x, y) {
      const step = [x - player[0], y - player[1]];
      if (Math.abs(step[0]) + Math.abs(step[1]) !== 1 || !joined(...player, ...step)) return false;
      player = [x, y];
      return true;
    },
    state: () => ({ size, player, goal, distance, open: [...open] }),
  });
})();
