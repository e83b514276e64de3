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
  checkbox: (draw, thing) => switched(draw, thing, ["Check", "Tick", "Select"], ["Uncheck", "Untick"]),
  switch: (draw, thing) => switched(draw, thing, ["Turn on", "Switch on"], ["Turn off", "Switch off"]),
  "radio button": (draw, thing) => (thing.state() === "on" ? null : once(draw, ["Choose", "Select"], thing, "on")),
  item: (draw, thing) =>
    thing.state() === "selected" ? null : once(draw, ["Select", "Click", "Choose"], thing, "selected"),
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
      words: draw.pick([
        `Choose ${wanted} for ${thing.name}`,
        `Select ${wanted} from the ${thing.name} list`,
        `Pick ${wanted} from the list ${thing.name}`,
      ]),
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

/** A click that brings a thing into a state. */
function once(draw, verbs, thing, wanted) {
  const verb = draw.pick(verbs);
  return {
    verb,
    object: thing.name,
    met: () => thing.state() === wanted,
    next: () => ({ click: centre(thing.element) }),
  };
}

function switched(draw, thing, on, off) {
  return thing.state() === "on" ? once(draw, off, thing, "off") : once(draw, on, thing, "on");
}

/** Goals, each in words of its own or as a verb and its object, as one sentence, the last of it the button that ends the task; what one verb does stands together. */
function asked(draw, goals, ending) {
  const parts = [];
  for (const { words, verb, object } of goals) {
    if (verb && parts.at(-1)?.verb === verb) parts.at(-1).objects.push(object);
    else parts.push(verb ? { verb, objects: [object] } : { words });
  }
  const told = parts.map(({ words, verb, objects }, index) => {
    const part = words ?? `${verb} ${listed(objects)}`;
    return index ? part.charAt(0).toLowerCase() + part.slice(1) : part;
  });
  const last = draw.pick([" and press", ", then press", " and click", ", then click", ", then click on"]);
  return `${told.join(", ")}${last} ${ending}.`;
}

const listed = (names) =>
  names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];
