"use strict";
// Push every box onto a goal. A level is played backwards from its end, box by box pulled away, so it can
// be solved; of what is reached that way, the start is where the boxes are farthest from their goals.
(() => {
  const SIDE = 8, STATES = 6000, TRIES = 60;
  const WAYS = Object.values(DIRECTIONS).map(([dx, dy]) => dx + dy * SIDE);
  let walls, goals, boxes, player;

  /** Cells the player can walk to. */
  function reach(from, blocked) {
    const seen = new Set([from]);
    for (const place of seen) {
      for (const way of WAYS) if (!walls[place + way] && !blocked.has(place + way)) seen.add(place + way);
    }
    return seen;
  }

  const key = (some, region) => `${[...some].sort((a, b) => a - b)}|${Math.min(...region)}`;

  /** A room with some walls in it, all of whose floor hangs together. */
  function room(random) {
    walls = Array.from({ length: SIDE * SIDE }, (_, at) => {
      const x = at % SIDE, y = Math.floor(at / SIDE);
      return x === 0 || y === 0 || x === SIDE - 1 || y === SIDE - 1 || random.next() < 0.18;
    });
    const floor = walls.flatMap((wall, at) => (wall ? [] : [at]));
    const joined = reach(floor[0], new Set());
    for (const at of floor) if (!joined.has(at)) walls[at] = true;
    return [...joined];
  }

  /** The state farthest from the end, counted in pulls, with no box on a goal where there is such. */
  function farthest(random, floor, number) {
    goals = new Set(random.shuffled(floor).slice(0, number));
    const seen = new Map(), waiting = [];
    const visit = (some, at, pulls) => {
      const region = reach(at, some), name = key(some, region);
      if (seen.has(name)) return;
      seen.set(name, pulls);
      waiting.push({ some, region, pulls });
    };
    for (const at of floor) if (!goals.has(at)) visit(goals, at, 0);
    let best = null;
    for (let i = 0; i < waiting.length && waiting.length < STATES; i++) {
      const { some, region, pulls } = waiting[i];
      const away = [...some].every((box) => !goals.has(box));
      if (away && (!best || pulls > best.pulls)) best = waiting[i];
      for (const box of some) {
        for (const way of WAYS) {
          const stand = box + way, back = box + 2 * way;
          if (!region.has(stand) || walls[back] || some.has(back)) continue;
          visit(new Set([...some].map((each) => (each === box ? stand : each))), back, pulls + 1);
        }
      }
    }
    return best;
  }

  function level(random, number) {
    for (let i = 0; i < TRIES; i++) {
      const floor = room(random);
      if (floor.length < 14 + 3 * number) continue;
      const found = farthest(random, floor, number);
      if (found && found.pulls >= 3 + number && found.pulls <= 6 + 5 * number) return found;
    }
    throw new Error("no level was found");
  }

  function step(way) {
    const next = player + way, beyond = next + way;
    if (walls[next]) return false;
    if (boxes.has(next)) {
      if (walls[beyond] || boxes.has(beyond)) return false;
      boxes.delete(next);
      boxes.add(beyond);
    }
    player = next;
    return true;
  }

  defineGame({
    title: "Sokoban",
    start(random, options) {
      const found = level(random, options.boxes ?? 2);
      boxes = new Set(found.some);
      player = random.pick([...found.region].sort((a, b) => a - b));
      const what = boxes.size === 1 ? "the box onto the red dot" : "every box onto a red dot";
      return `Push ${what}, with the arrow keys or the buttons. Boxes can only be pushed, one at a time.`;
    },
    size: () => [SIDE, SIDE],
    cell(x, y) {
      const at = y * SIDE + x;
      const classes = [walls[at] && "wall", goals.has(at) && "goal", boxes.has(at) && "box", at === player && "player"];
      return { classes: classes.filter(Boolean).join(" ") };
    },
    progress: () => [...boxes].filter((box) => goals.has(box)).length / boxes.size,
    over: () => false,
    key(name) {
      const way = DIRECTIONS[name];
      return way ? step(way[0] + way[1] * SIDE) : false;
    },
    click(x, y) {
      const way = y * SIDE + x - player;
      return WAYS.includes(way) ? step(way) : false;
    },
    state: () => ({
      side: SIDE,
      walls: walls.flatMap((wall, at) => (wall ? [at] : [])),
      goals: [...goals],
      boxes: [...boxes],
      player,
    }),
  });
})();
