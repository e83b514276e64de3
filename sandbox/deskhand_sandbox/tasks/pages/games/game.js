"use strict";
// What all games share: a board of cells, keys, buttons, score and rewards.
// A page calls `defineGame`; verifiers and oracles read the global `game`.

const DIRECTIONS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const ARROWS = { ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓", ArrowRight: "→" };

let game;

/**
 * rules: title; start(random, options) -> instruction; size() -> [columns, rows];
 * cell(x, y) -> {classes, text}; progress() -> at most 1, which is won; over() -> lost;
 * key(name) and click(x, y, button): a move, true where something happened; state() for oracles.
 */
function defineGame(rules) {
  const make = (name, parent) => parent.appendChild(document.createElement(name));
  const header = make("header", document.body);
  make("b", header).textContent = rules.title;
  const status = make("span", header);
  const board = make("div", document.body);
  board.id = "board";
  const pad = make("div", document.body);
  pad.id = "pad";
  for (const [name, sign] of Object.entries(ARROWS)) {
    const button = make("button", pad);
    button.textContent = sign;
    button.tabIndex = -1;
    button.setAttribute("aria-label", name.replace("Arrow", "").toLowerCase());
    button.addEventListener("click", () => play(() => rules.key(name)));
  }

  let moves = 0, taken = 0, begun = false;
  const done = () => begun && (game.won || rules.over());

  function play(move) {
    if (!begun || done() || !move()) return;
    moves++;
    draw();
  }

  function draw() {
    const [columns, rows] = rules.size();
    board.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${columns}, 1fr)`;
    board.replaceChildren();
    for (let y = 0; y < rows; y++) {
      for (let x = 0; x < columns; x++) {
        const { classes, text, style } = rules.cell(x, y);
        const cell = make("div", board);
        cell.className = classes;
        cell.textContent = text ?? "";
        if (style) Object.assign(cell.style, style);
      }
    }
    status.className = game.won ? "won" : done() ? "lost" : "";
    status.textContent = game.won ? "won" : done() ? "lost" : `moves ${moves}`;
  }

  function place(event) {
    const box = board.getBoundingClientRect(), [columns, rows] = rules.size();
    const x = Math.floor(((event.clientX - box.left) / box.width) * columns);
    const y = Math.floor(((event.clientY - box.top) / box.height) * rows);
    return x >= 0 && x < columns && y >= 0 && y < rows ? [x, y] : null;
  }

  for (const [kind, button] of [["click", "left"], ["contextmenu", "right"]]) {
    board.addEventListener(kind, (event) => {
      event.preventDefault();
      const cell = place(event);
      if (cell) play(() => rules.click(...cell, button));
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    play(() => rules.key(event.key));
    if (event.key in DIRECTIONS || event.key === " ") event.preventDefault();
  });

  game = {
    start(seed, options = {}) {
      begun = false;
      moves = 0;
      // the split is no part of what a seed draws: it only says what will not do
      const text = `${rules.title}\0${JSON.stringify({ ...options, split: undefined })}\0${seed}`;
      const instruction = rules.start(chance(text), options);
      begun = true;
      taken = rules.progress();
      draw();
      return instruction;
    },
    get done() { return done(); },
    get won() { return begun && rules.progress() >= 1; },
    /** 0 to 1. */
    score: () => (begun ? Math.min(1, Math.max(0, rules.progress())) : 0),
    /** Progress since the last call. */
    takeReward() {
      const now = rules.progress(), reward = now - taken;
      taken = now;
      return reward;
    },
    state: () => rules.state(),
  };
}
