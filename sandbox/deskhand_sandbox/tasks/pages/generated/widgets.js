"use strict";
// Things to see and to use. Each maker puts one into the page, makes it work, and notes what a person would say of
// it: its role, its name, its colour, its state.

/**
 * What a maker notes: element (a click there uses it), role, name; tone (name of its colour) or ""; state() or "":
 * "on", "off", "open", "closed", "selected"; value() or "": what it holds or shows.
 */
function widgets(draw, things) {
  const { random, maybe, pick, look } = draw;
  const none = () => "";
  const make = (tag, parent, classes = "", text = "") => {
    const element = parent.appendChild(document.createElement(tag));
    if (classes) element.className = classes;
    if (text) element.textContent = text;
    return element;
  };
  const note = (element, role, name, more = {}) => {
    const thing = { element, role, name, tone: "", state: none, value: none, ...more };
    things.push(thing);
    return thing;
  };
  const shown = (text) => (look.upper ? text.toUpperCase() : text);

  /** A button; some are of a colour. */
  function button(parent, name, { tone = maybe(0.4) ? pick(Object.keys(TONES)) : "", act = () => {} } = {}) {
    const element = make("button", parent, "", name);
    element.type = "button";
    if (tone) {
      const [ground, ink] = pick(TONES[tone]);
      Object.assign(element.style, { background: ground, color: ink, borderColor: ground === "#fff" ? "#999" : ground });
      if (look.native) Object.assign(element.style, { border: "1px solid #777", padding: "2px 6px" });
    }
    const thing = note(element, "button", look.native ? name : shown(name), { tone });
    element.addEventListener("click", act);
    return thing;
  }

  function link(parent, name) {
    const element = make("a", parent, "", name);
    element.tabIndex = 0;
    return note(element, "link", name);
  }

  /** A field with its name beside, above or inside it. */
  function field(parent, name, { value = "", place = pick(["beside", "above", "inside"]), area = false } = {}) {
    const row = make("div", parent, place === "above" ? "field over" : "field");
    if (place !== "inside") make("span", row, "name", place === "beside" && maybe(0.6) ? `${name}:` : name);
    const element = make(area ? "textarea" : "input", row);
    if (area) element.rows = 2;
    else if (!look.native || maybe(0.5)) element.type = "text";
    element.value = value;
    element.spellcheck = false;
    element.autocomplete = "off";
    if (place === "inside") element.placeholder = name;
    return note(element, "field", name, { value: () => element.value });
  }

  function checkbox(parent, name, on = maybe(0.4)) {
    const row = make("label", parent, "field");
    const element = make("input", row);
    element.type = "checkbox";
    element.checked = on;
    make("span", row, "", name);
    return note(element, "checkbox", name, { state: () => (element.checked ? "on" : "off") });
  }

  /** Radio buttons of which one is on. */
  function choices(parent, names, group) {
    const chosen = random.below(names.length);
    return names.map((name, index) => {
      const row = make("label", parent, "field");
      const element = make("input", row);
      element.type = "radio";
      element.name = group;
      element.checked = index === chosen;
      make("span", row, "", name);
      return note(element, "radio button", name, { state: () => (element.checked ? "on" : "off") });
    });
  }

  function toggle(parent, name, on = maybe(0.5)) {
    const row = make("div", parent, "field");
    const before = maybe(0.5);
    if (before) make("span", row, "name", name);
    const element = make("span", row, "switch");
    element.setAttribute("role", "switch");
    element.setAttribute("aria-checked", String(on));
    if (!before) make("span", row, "name", name);
    element.addEventListener("click", () => {
      element.setAttribute("aria-checked", String(element.getAttribute("aria-checked") !== "true"));
    });
    return note(element, "switch", name, {
      state: () => (element.getAttribute("aria-checked") === "true" ? "on" : "off"),
    });
  }

  /** A slider from 0 to 10 that is set by a click, with its value beside it or not. */
  function slider(parent, name, value = random.below(11)) {
    const row = make("div", parent, "field");
    make("span", row, "name", name);
    const element = make("span", row, "slider");
    element.setAttribute("role", "slider");
    const knob = make("i", element);
    const told = make("span", row);
    let at = value;
    const show = () => {
      knob.style.left = `${5 + at * 9}%`;
      told.textContent = String(at);
    };
    element.addEventListener("click", (event) => {
      const box = element.getBoundingClientRect();
      at = Math.min(10, Math.max(0, Math.round((((event.clientX - box.left) / box.width) * 100 - 5) / 9)));
      show();
    });
    show();
    const point = (wanted) => {
      const box = element.getBoundingClientRect();
      return [box.left + (box.width * (5 + wanted * 9)) / 100, (box.top + box.bottom) / 2];
    };
    return note(element, "slider", name, { value: () => String(at), point });
  }

  /** A number between − and +. */
  function stepper(parent, name, value = random.below(8)) {
    const row = make("div", parent, "field");
    make("span", row, "name", name);
    const element = make("span", row, "stepper");
    const less = make("button", element, "", "−"), told = make("b", element, "", String(value));
    const more = make("button", element, "", "+");
    let at = value;
    const by = (step) => () => {
      at = Math.min(99, Math.max(0, at + step));
      told.textContent = String(at);
    };
    less.type = more.type = "button";
    less.addEventListener("click", by(-1));
    more.addEventListener("click", by(1));
    const made = note(told, "number", name, { value: () => String(at) });
    made.less = note(less, "minus button", name);
    made.more = note(more, "plus button", name);
    return made;
  }

  /** Tabs over panels; `fill(panel, index)` fills each. */
  function tabs(parent, names, fill) {
    const bar = make("div", parent, "tabs"), under = make("div", parent);
    bar.setAttribute("role", "tablist");
    const panels = names.map((_, index) => {
      const panel = make("div", under);
      fill(panel, index);
      return panel;
    });
    const made = names.map((name, index) => {
      const element = make("span", bar, "", name);
      element.setAttribute("role", "tab");
      element.addEventListener("click", () => open(index));
      return note(element, "tab", name, {
        state: () => (element.getAttribute("aria-selected") === "true" ? "selected" : ""),
      });
    });
    function open(chosen) {
      made.forEach((tab, index) => {
        tab.element.setAttribute("aria-selected", String(index === chosen));
        panels[index].hidden = index !== chosen;
      });
    }
    open(random.below(names.length));
    return made;
  }

  /** A list of which one row may be selected. */
  function list(parent, names) {
    const element = make("ul", parent, "list");
    const chosen = maybe(0.4) ? random.below(names.length) : -1;
    const rows = names.map((name, index) => {
      const row = make("li", element, index === chosen ? "on" : "");
      make("span", row, "", name);
      const thing = note(row, "item", name, { state: () => (row.classList.contains("on") ? "selected" : "") });
      row.addEventListener("click", () => {
        for (const each of rows) each.element.classList.toggle("on", each === thing);
      });
      return thing;
    });
    return rows;
  }

  /** A table of texts; every cell is noted with its row and column. */
  function table(parent, columns, rows) {
    const element = make("table", parent);
    const head = make("tr", make("thead", element)), body = make("tbody", element);
    for (const name of columns) note(make("th", head, "", name), "column head", name);
    return rows.map((cells) => {
      const row = make("tr", body);
      return cells.map((text, index) =>
        note(make("td", row, "", text), "cell", text, { row: cells[0], column: columns[index] }));
    });
  }

  /** A part that folds away. */
  function fold(parent, name, fill) {
    const element = make("div", parent, "fold");
    const head = make("div", element, "", name), body = make("div", element);
    fill(body);
    const show = (open) => {
      element.classList.toggle("on", open);
      body.hidden = !open;
    };
    head.addEventListener("click", () => show(!element.classList.contains("on")));
    show(maybe(0.3));
    return note(head, "section", name, {
      state: () => (element.classList.contains("on") ? "open" : "closed"),
    });
  }

  /** A button that opens a menu of names; the chosen one stands on it. */
  function dropdown(parent, name, names, value = pick(names)) {
    const row = make("div", parent, "field");
    make("span", row, "name", name);
    const holder = make("span", row);
    holder.style.position = "relative";
    const element = make("button", holder, "", `${value} ▾`);
    element.type = "button";
    element.style.textTransform = "none"; // a name is written on it as it is in the menu
    let held = value, menu = null;
    const made = note(element, "list box", name, {
      names,
      value: () => held,
      state: () => (menu ? "open" : "closed"),
      options: () => (menu ? [...menu.children] : []),
    });
    const close = () => {
      menu?.remove();
      menu = null;
    };
    element.addEventListener("click", () => {
      if (menu) return close();
      menu = make("div", document.querySelector("main"), "menu");
      const box = element.getBoundingClientRect();
      for (const each of names) {
        make("div", menu, "", each).addEventListener("click", () => {
          held = each;
          element.textContent = `${held} ▾`;
          close();
        });
      }
      const tall = menu.getBoundingClientRect().height;
      const down = box.bottom + tall <= innerHeight ? box.bottom : Math.max(0, box.top - tall);
      Object.assign(menu.style, { left: `${Math.min(box.left, innerWidth - menu.offsetWidth)}px`, top: `${down}px` });
    });
    return made;
  }

  function meter(parent, name, value = random.below(11) * 10) {
    const row = make("div", parent, "field");
    make("span", row, "name", name);
    const element = make("span", row, "meter");
    make("i", element).style.width = `${value}%`;
    return note(element, "progress bar", name, { value: () => `${value}%` });
  }

  /** A button with a picture in place of a word. */
  function icon(parent, name, tone = "") {
    const element = make("button", parent, "icon");
    element.type = "button";
    element.setAttribute("aria-label", name);
    element.innerHTML = `<svg viewBox="0 0 24 24">${ICONS[name]}</svg>`;
    if (tone) element.style.color = pick(TONES[tone])[0];
    return note(element, "icon", name, { tone });
  }

  /** A dialog over the page with buttons that close it. */
  function dialog(title, text, names) {
    const veil = make("div", document.querySelector("main"), "veil"), box = make("div", veil, "dialog");
    note(make("h2", box, "", title), "heading", title);
    if (text) make("p", box, "", text);
    const row = make("div", box, "row");
    return names.map((name) => button(row, name, { act: () => veil.remove() }));
  }

  const heading = (parent, name) => note(make(pick(["h1", "h2", "h3"]), parent, "", name), "heading", name);
  const text = (parent, words) => make("p", parent, "", words);

  return {
    make, note, button, link, field, checkbox, choices, toggle, slider, stepper, tabs, list, table, fold, dropdown,
    meter, icon, dialog, heading, text,
  };
}
