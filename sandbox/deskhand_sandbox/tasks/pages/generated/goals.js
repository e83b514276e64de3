"use strict";
// What is to be done on a page: goals drawn from its things, each with its words, its test, and the next thing to do.

const GOALS = {
  field: (draw, thing) => {
    const wanted = draw.word(9);
    return {
      words: draw.pick([`Enter "${wanted}" into ${thing.name}`, `Type "${wanted}" in the ${thing.name} field`]),
      met: () => thing.value() === wanted,
      next: () => {
        if (document.activeElement !== thing.element) return { click: centre(thing.element) };
        const all = thing.element.selectionStart === 0 && thing.element.selectionEnd === thing.value().length;
        return thing.value() && !all ? { click: centre(thing.element), count: 3 } : { type: wanted };
      },
    };
  },
  checkbox: (draw, thing) => switched(draw, thing, ["Check", "Uncheck"]),
  switch: (draw, thing) => switched(draw, thing, ["Turn on", "Turn off"]),
  "radio button": (draw, thing) =>
    thing.state() === "on" ? null : once(draw.pick(["Choose", "Select"]), thing, () => thing.state() === "on"),
  item: (draw, thing) =>
    thing.state() === "selected" ? null : once("Select", thing, () => thing.state() === "selected"),
  number: (draw, thing) => {
    const from = Number(thing.value());
    const wanted = Math.max(0, from + draw.pick([-3, -2, -1, 1, 2, 3]));
    if (wanted === from) return null;
    return {
      words: `Set ${thing.name} to ${wanted}`,
      met: () => Number(thing.value()) === wanted,
      next: () => ({ click: centre((Number(thing.value()) < wanted ? thing.more : thing.less).element) }),
    };
  },
  slider: (draw, thing) => {
    const wanted = draw.between(0, 10);
    if (String(wanted) === thing.value()) return null;
    return {
      words: `Set ${thing.name} to ${wanted}`,
      met: () => thing.value() === String(wanted),
      next: () => ({ click: thing.point(wanted) }),
    };
  },
  "list box": (draw, thing) => {
    const wanted = draw.pick(thing.names.filter((name) => name !== thing.value()));
    return {
      words: `Choose ${wanted} for ${thing.name}`,
      met: () => thing.value() === wanted,
      next: () => ({
        click: centre(thing.options().find((each) => each.textContent === wanted) ?? thing.element),
      }),
    };
  },
};

const centre = (element) => {
  const box = element.getBoundingClientRect();
  return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
};

function once(verb, thing, met) {
  return { words: `${verb} ${thing.name}`, met, next: () => ({ click: centre(thing.element) }) };
}

function switched(draw, thing, [on, off]) {
  const wanted = thing.state() === "on" ? "off" : "on";
  return once(wanted === "on" ? on : off, thing, () => thing.state() === wanted);
}
