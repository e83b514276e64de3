"use strict";
// More of the work of `workflows.js`: the same few steps, several of them one after another.

Object.assign(WORKFLOWS, {
  /** Buttons each of which asks whether one is sure. */
  approve: (stage) => {
    const { draw, make, place, end } = stage, row = make.make("div", place, draw.pick(["row", "column"]));
    const all = some(4, () => make.button(row, draw.label(1, 8)));
    const wanted = draw.random.shuffled(all).slice(0, 2), [yes, no] = draw.pick([["Yes", "No"], ["OK", "Cancel"]]);
    let done = 0, sure = null;
    for (const each of all) {
      each.element.addEventListener("click", () => {
        if (each !== wanted[done]) return end(false);
        const names = draw.random.shuffled([yes, no]), answers = make.dialog("Are you sure?", "", names);
        sure = answers[names.indexOf(yes)];
        answers.forEach((answer) => answer.element.addEventListener("click", () => {
          if (answer !== sure || done === 1) return end(answer === sure);
          sure = null;
          each.element.style.visibility = "hidden";
          done++;
        }));
      });
    }
    return {
      words: `Press ${wanted.map((each) => `${each.name} and confirm it`).join(", then press ")}`,
      steps: 3,
      met: () => 2 * done + Number(sure !== null),
      next: () => sure ?? wanted[done],
      ends: true,
    };
  },

  /** Questions one after another, each with the answer asked for, and a button of the page behind them. */
  ask: (stage) => {
    const [wanted] = buttons(stage, 4, () => stage.end(true)), questions = asking(stage, 2);
    return {
      words: `Answer ${questions.wanted.join(", then ")}, and press ${wanted.name}`,
      steps: 2,
      met: questions.met,
      next: () => questions.next() ?? wanted,
      ends: true,
    };
  },

  /** A file in a folder, and the question whether one is sure of it. */
  file: (stage) => {
    const { draw, make, place, end } = stage, open = sheets(make, place, 2, 0);
    const rows = open.all.map((sheet) => make.list(sheet, some(3, () => draw.label(1, 9))));
    const wanted = rows.map((row) => draw.pick(row)), [yes, no] = draw.pick([["Yes", "No"], ["OK", "Cancel"]]);
    const names = draw.random.shuffled([yes, no]);
    let sure = null;
    open.each(rows, (at, index) => {
      if (rows[at][index] !== wanted[at]) return end(false);
      if (at === 0) return open.show(1);
      const answers = make.dialog("Open this file?", "", names);
      sure = answers[names.indexOf(yes)];
      for (const answer of answers) answer.element.addEventListener("click", () => end(answer === sure));
    });
    return {
      words: `Open ${wanted.map((each) => each.name).join(", then ")}, and confirm it`,
      steps: 2,
      met: () => open.at() + Number(sure !== null),
      next: () => sure ?? wanted[open.at()],
      ends: true,
    };
  },

  /** Folders in folders; another than the one asked for is the end. */
  folders: ({ draw, make, place, end }) => {
    const open = sheets(make, place, 4, 0);
    const rows = open.all.map((sheet) => make.list(sheet, some(3, () => draw.label(1, 9))));
    const wanted = rows.map((row) => draw.pick(row));
    open.each(rows, (at, index) => {
      const right = rows[at][index] === wanted[at];
      if (!right || at === 3) return end(right);
      open.show(at + 1);
    });
    return {
      words: `Open ${wanted.map((each) => each.name).join(", then ")}`,
      steps: 3,
      met: () => open.at(),
      next: () => wanted[open.at()],
      ends: true,
    };
  },

  /** Mails, and what to do with two of them. */
  inbox: (stage) => {
    const { draw, make, place } = stage, verbs = draw.random.shuffled(["Reply", "Archive", "Delete"]);
    const mails = make.list(place, some(3, () => draw.word(9))), open = sheets(make, place, 3);
    const rows = open.all.map((sheet) => {
      const row = make.make("div", sheet, "row");
      return verbs.map((verb) => plain(make, row, verb));
    });
    return inTurn(stage, mails, rows, open);
  },

  /** A button, its taking back, and another button. */
  instead: ({ draw, make, place, end }) => {
    const row = make.make("div", place, "row"), all = some(4, () => make.button(row, draw.label(1, 8)));
    const [wanted, other] = draw.random.shuffled(all);
    let pressed = false, undone = false;
    for (const each of all) {
      each.element.addEventListener("click", () => {
        if (each !== wanted) return end(each === other && undone);
        pressed = true;
        wanted.element.style.visibility = "hidden";
      });
    }
    const back = plain(make, make.make("div", place, "row"), "Undo", () => {
      undone = pressed;
      wanted.element.style.visibility = "";
    });
    return {
      words: `Press ${wanted.name}, undo it, then press ${other.name}`,
      steps: 2,
      met: () => Number(pressed) + Number(undone),
      next: () => (undone ? other : pressed ? back : wanted),
      ends: true,
    };
  },

  /** Buttons one after another, and a message to be closed after each. */
  interrupt: ({ draw, make, place, end }) => {
    const row = make.make("div", place, "row"), all = some(4, () => make.button(row, draw.label(1, 8)));
    const wanted = draw.random.shuffled(all).slice(0, 3), said = some(2, () => draw.word(8));
    const names = some(2, () => draw.pick(["Close", "Got it", "Later", "Dismiss"]));
    let pressed = 0, close = null;
    for (const each of all) {
      each.element.addEventListener("click", () => {
        if (each !== wanted[pressed] || pressed === 2) return end(each === wanted[pressed]);
        each.element.style.visibility = "hidden";
        [close] = make.dialog("News", said[pressed], [names[pressed]]);
        close.element.addEventListener("click", () => {
          close = null;
          pressed++;
        });
      });
    }
    return {
      words: `Press ${wanted.map((each) => each.name).join(", then ")}`,
      steps: 4,
      met: () => 2 * pressed + Number(close !== null),
      next: () => close ?? wanted[pressed],
      ends: true,
    };
  },

  /** A mail to be opened, and what to do with it. */
  mail: ({ draw, make, place, end }) => {
    const open = sheets(make, place, 2, 0), mails = make.list(open.all[0], some(4, () => draw.word(9)));
    const title = make.heading(open.all[1], ""), row = make.make("div", open.all[1], "row"), wanted = draw.pick(mails);
    const [verb, ...others] = draw.random.shuffled(["Reply", "Archive", "Delete", "Forward"]);
    const verbs = draw.random.shuffled([verb, ...others.slice(0, 2)]).map((name) => [name, plain(make, row, name)]);
    for (const mail of mails) {
      mail.element.addEventListener("click", () => {
        if (mail !== wanted) return end(false);
        title.element.textContent = mail.name;
        open.show(1);
      });
    }
    for (const [name, { element }] of verbs) element.addEventListener("click", () => end(name === verb));
    return {
      words: `Open the mail of ${wanted.name} and press ${verb}`,
      steps: 1,
      met: open.at,
      next: () => (open.at() ? verbs.find(([name]) => name === verb)[1] : wanted),
      ends: true,
    };
  },

  /** Two of a bar's menus, and an item of each. */
  menus: (stage) => {
    const { draw, make, place } = stage, bar = make.make("div", place, "row");
    const heads = some(3, () => plain(make, bar, draw.word(6))), open = sheets(make, place, 3);
    return inTurn(stage, heads, open.all.map((sheet) => column(draw, make, sheet, 2)), open);
  },

  /** Two of several tabs, and a button under each. */
  panels: (stage) => {
    const { draw, make, place } = stage, rows = [];
    const tabs = make.tabs(place, some(3, () => draw.word(5)), (panel) => rows.push(column(draw, make, panel, 2)));
    const at = () => tabs.findIndex((tab) => tab.state() === "selected");
    return inTurn(stage, tabs, rows, { at, show: () => {} });
  },

  /** Questions one after another, each with the answer asked for. */
  survey: (stage) => {
    const { draw, make, place, end } = stage;
    make.text(place, "A few questions");
    const questions = asking(stage, draw.between(3, 4), () => end(true));
    return {
      words: `Answer ${questions.wanted.join(", then ")}`,
      steps: questions.wanted.length - 1,
      met: questions.met,
      next: questions.next,
      ends: true,
    };
  },
});

/** Two things to be opened in turn, and one to be pressed in each. `open`: which one is open, and opens one. */
function inTurn({ draw, end }, heads, rows, open) {
  heads.forEach((head, index) => head.element.addEventListener("click", () => open.show(index)));
  const shut = draw.random.shuffled([0, 1, 2].filter((index) => index !== open.at())).slice(0, 2);
  const way = shut.map((at) => ({ at, head: heads[at], thing: draw.pick(rows[at]) }));
  let pressed = 0;
  for (const each of rows.flat()) {
    each.element.addEventListener("click", () => {
      const right = each === way[pressed].thing;
      if (!right || pressed === 1) return end(right);
      each.element.style.visibility = "hidden";
      pressed++;
    });
  }
  const opened = () => open.at() === way[pressed].at;
  return {
    words: `Open ${way.map(({ head, thing }) => `${head.name} and press ${thing.name}`).join(", then open ")}`,
    steps: 3,
    met: () => 2 * pressed + Number(opened()),
    next: () => (opened() ? way[pressed].thing : way[pressed].head),
    ends: true,
  };
}

/** Questions in front of a page, one after another; another answer than the one asked for is the end. */
function asking({ draw, make, end }, number, answered = () => {}) {
  const questions = some(number, () => [draw.label(1, 8), draw.label(1, 8)]);
  const wanted = questions.map(([first, second]) => draw.pick([first, second]));
  let at = 0, answers = [];
  const ask = () => {
    answers = make.dialog(`Question ${at + 1}`, "", questions[at]);
    answers.forEach((answer, index) => answer.element.addEventListener("click", () => {
      if (questions[at][index] !== wanted[at]) return end(false);
      at++;
      at < number ? ask() : answered();
    }));
  };
  ask();
  return {
    wanted,
    met: () => at,
    next: () => (at < number ? answers[questions[at].indexOf(wanted[at])] : null),
  };
}
