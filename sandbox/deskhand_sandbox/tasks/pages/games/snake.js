"use strict";
// The snake takes one step with every key; walls and its own body end the game.
(() => {
  const SIDE = 9;
  let snake, apple, eaten, wanted, dead, random;
  const has = (places, x, y) => places.some((each) => each[0] === x && each[1] === y);

  function grow() {
    const free = [];
    for (let y = 0; y < SIDE; y++) for (let x = 0; x < SIDE; x++) if (!has(snake, x, y)) free.push([x, y]);
    apple = random.pick(free);
  }

  function step([dx, dy]) {
    const x = snake[0][0] + dx, y = snake[0][1] + dy;
    if (snake.length > 1 && snake[1][0] === x && snake[1][1] === y) return false;
    const eats = apple[0] === x && apple[1] === y;
    const body = eats ? snake : snake.slice(0, -1);
    if (x < 0 || y < 0 || x >= SIDE || y >= SIDE || has(body, x, y)) { dead = true; return true; }
    snake = [[x, y], ...body];
    if (eats) { eaten++; grow(); }
    return true;
  }

  defineGame({
    title: "Snake",
    start(source, options) {
      random = source;
      wanted = options.apples ?? 4;
      [eaten, dead] = [0, false];
      snake = [[4, 4], [3, 4], [2, 4]];
      grow();
      return `Eat ${wanted} apples. The snake takes one step with every arrow key or button; walls and its own body end the game.`;
    },
    size: () => [SIDE, SIDE],
    cell(x, y) {
      if (snake[0][0] === x && snake[0][1] === y) return { classes: "head" };
      if (has(snake, x, y)) return { classes: "body" };
      return { classes: apple[0] === x && apple[1] === y ? "apple" : "" };
    },
    progress: () => eaten / wanted,
    over: () => dead,
    key: (name) => (name in DIRECTIONS ? step(DIRECTIONS[name]) : false),
    click(x, y) {
      const way = [x - snake[0][0], y - snake[0][1]];
      return Math.abs(way[0]) + Math.abs(way[1]) === 1 ? step(way) : false;
    },
    state: () => ({ side: SIDE, snake, apple }),
  });
})();
