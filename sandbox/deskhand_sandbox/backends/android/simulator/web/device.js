"use strict";
// The screen of the simulated device. What it shows follows from `ui` (which app, which of its screens, what is
// half typed) and from the rows the simulator keeps: the two together can be kept and brought back.

const apps = new Map();
let ui = { front: null, tasks: {}, keyboard: false, shift: false, symbols: false, focus: null };
let world = { settings: {}, demo: null, now: 0, began: performance.now() };

const HOLD_MS = 500, SLOP_PX = 8;

// ---- rows, by the simulator

const waiting = new Map();
let asked = 0;
function ask(method, args = {}) {
  return new Promise((resolve, reject) => {
    waiting.set(++asked, { resolve, reject });
    simulator(JSON.stringify({ id: asked, method, args }));
  });
}
const rows = (table, where = "") => ask("select", { table, where });
const insert = (table, values) => ask("insert", { table, values });
const update = (table, values, where) => ask("update", { table, values, where });
const remove = (table, where) => ask("delete", { table, where });
const setting = (space, name) => world.settings[`${space}/${name}`] ?? null;
const setSetting = async (namespace, name, value) => { world.settings = await ask("set", { namespace, name, value: String(value) }); };
const sql = (text) => `'${String(text).replaceAll("'", "''")}'`;
const now = () => world.now + (performance.now() - world.began);

// ---- words of the screens

const esc = (text) => String(text ?? "").replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const attr = (name, value) => (value === undefined || value === null ? "" : ` ${name}="${esc(value)}"`);
const icons = {
  back: "M15 5l-7 7 7 7", plus: "M12 5v14M5 12h14", bin: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  pen: "M4 20h4L19 9l-4-4L4 16z", pin: "M9 3h6l-1 7 4 4H6l4-4zM12 14v7", send: "M4 12l16-8-6 16-3-6z",
  star: "M12 3l2.7 5.8 6.3.8-4.6 4.3 1.2 6.2L12 17l-5.6 3.1 1.2-6.2L3 9.6l6.3-.8z",
  person: "M12 12a4 4 0 100-8 4 4 0 000 8zM4 21c0-5 16-5 16 0", note: "M6 3h9l4 4v14H6zM9 11h7M9 15h7",
  gear: "M12 9a3 3 0 100 6 3 3 0 000-6zM12 2v4M12 18v4M2 12h4M18 12h4M5 5l3 3M16 16l3 3M5 19l3-3M16 8l3-3",
  clock: "M12 3a9 9 0 100 18 9 9 0 000-18zM12 7v5l3 3", chat: "M4 5h16v11H9l-5 4z",
  picture: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4", wifi: "M3 9c6-5 12-5 18 0M6 13c4-3 8-3 12 0M10 17c2-1 2-1 4 0",
  check: "M5 13l5 5L20 7",
};
const icon = (name, size = 24) => `<svg width="${size}" height="${size}" viewBox="0 0 24 24"><path d="${icons[name]}"/></svg>`;
const hue = (text) => [...String(text)].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) % 360, 7);
const face = (name) => `<span class="face" style="background:hsl(${hue(name)} 45% 48%)">${esc([...String(name)][0] ?? "?")}</span>`;
const item = ({ title, sub, tap, arg, hold, lead = "", trail = "", kind = "", check }) =>
  `<div class="item ${kind}"${attr("data-tap", tap)}${attr("data-arg", arg)}${attr("data-hold", hold)}${attr("data-check", check)}>
  ${lead}<span class="words"><b>${esc(title)}</b>${sub ? `<small>${esc(sub)}</small>` : ""}</span>${trail}</div>`;
const toggle = ({ title, sub, tap, arg, on }) =>
  item({ title, sub, tap, arg, check: on ? 1 : 0, trail: `<span class="switch ${on ? "on" : ""}"></span>` });
const list = (items) => (items.length ? `<div class="list">${items.join("")}</div>` : "");
const field = ({ name, label, value = "", enter, kind = "text", long }) => {
  const held = top().draft[name] ?? value;
  const more = `data-field="${name}" aria-label="${esc(label)}" autocomplete="off" spellcheck="false"${attr("data-enter", enter)}`;
  const box = long ? `<textarea ${more}>${esc(held)}</textarea>` : `<input type="text" inputmode="${kind}" ${more}${attr("value", held)}>`;
  return `<label class="field"><span>${esc(label)}</span>${box}</label>`;
};
const button = (label, tap, arg, kind = "") => `<span class="button ${kind}" data-tap="${tap}"${attr("data-arg", arg)}>${esc(label)}</span>`;
const slider = ({ label, name, value, most }) =>
  `<div class="slider"><b>${esc(label)}</b><small class="soft">${value} of ${most}</small><div class="track" data-slider="${name}" data-most="${most}" aria-label="${esc(label)}">
  <i><b style="width:${(100 * value) / most}%"></b></i></div></div>`;
const tabs = (names, chosen, tap) =>
  `<div class="tabs">${names.map((n) => `<span class="tab ${n === chosen ? "on" : ""}" data-tap="${tap}" data-arg="${esc(n)}">${esc(n)}</span>`).join("")}</div>`;
const pad = (n) => String(n).padStart(2, "0");
const day = (ms) => new Date(ms).toLocaleDateString("en-US", { month: "short", day: "numeric", timeZone: "UTC" });
const spoken = (s) => `${pad(Math.floor(s / 3600))}:${pad(Math.floor(s / 60) % 60)}:${pad(Math.floor(s) % 60)}`;

// ---- apps and their screens

const defineApp = (app) => apps.set(app.package, app);
const stack = () => ui.tasks[ui.front];
const top = () => stack().at(-1);
const page = (screen, args) => ({ screen, args, draft: {}, scroll: 0, dialog: null });
const home = () => { ui.front = null; ui.keyboard = false; ui.focus = null; };
function open(name) {
  ui.keyboard = false; ui.focus = null;
  ui.front = name;
  ui.tasks[name] ??= [page("main", {})];
}
function go(screen, args = {}) { blur(); stack().push(page(screen, args)); }
function leave() { blur(); if (stack().length > 1) stack().pop(); else { delete ui.tasks[ui.front]; home(); } }
function blur() { ui.focus = null; ui.keyboard = false; }
function confirmed(text, label, tap, arg) { top().dialog = { text, label, tap, arg }; }
function back() {
  if (!ui.front) return;
  if (ui.keyboard) ui.keyboard = false;
  else if (top().dialog) top().dialog = null;
  else leave();
}

let drawing = 0, busy = 0, ticking = 0;
async function draw() {
  const turn = ++drawing;
  const app = apps.get(ui.front);
  const shown = app ? await app.screens[top().screen](top().args, top()) : null;
  if (turn !== drawing) return;
  clearTimeout(ticking);
  const root = document.getElementById("app");
  root.innerHTML = app ? framed(app, shown) : launcher();
  document.body.classList.toggle("dark", setting("secure", "ui_night_mode") === "2");
  document.body.classList.toggle("at-home", !app);
  document.documentElement.style.fontSize = `${16 * Number(setting("system", "font_scale") ?? 1)}px`;
  statusBar();
  keyboard();
  const scroller = root.querySelector(".scroll");
  if (scroller && app) scroller.scrollTop = top().scroll === "end" ? scroller.scrollHeight : top().scroll;
  const focused = ui.focus && root.querySelector(`[data-field="${ui.focus}"]`);
  if (focused) { focused.focus({ preventScroll: true }); focused.setSelectionRange(focused.value.length, focused.value.length); reveal(focused); }
  else document.activeElement?.blur?.();
  if (shown?.ticks) ticking = setTimeout(() => work(async () => {}), 1000 - (now() % 1000));
}
function framed(app, { title, actions = [], body, fab, foot = "", above = "" }) {
  const inner = stack().length > 1;
  const up = inner ? `<span class="icon" data-tap="@up" aria-label="Navigate up">${icon("back")}</span>` : "";
  const right = actions.map((a) => `<span class="icon ${a.on ? "on" : ""}" data-tap="${a.tap}"${attr("data-arg", a.arg)} aria-label="${a.label}">${icon(a.icon)}</span>`);
  const float = fab ? `<span class="fab" data-tap="${fab.tap}" aria-label="${fab.label}">${icon("plus")}${fab.label}</span>` : "";
  const dialog = top().dialog;
  const veil = dialog ? `<div class="veil"><div class="dialog"><p>${esc(dialog.text)}</p><div class="row">
    ${button("Cancel", "@cancel", null, "plain")}${button(dialog.label, dialog.tap, dialog.arg, "danger")}</div></div></div>` : "";
  return `<div class="bar ${inner ? "inner" : ""}">${up}<h1>${esc(title)}</h1>${right.join("")}</div>${above}<div class="scroll">${body}</div>${foot}${float}${veil}`;
}
function launcher() {
  const date = new Date(world.now).toLocaleDateString("en-US", { weekday: "short", month: "short", day: "numeric", timeZone: "UTC" });
  const all = [...apps.values()].sort((a, b) => a.label.localeCompare(b.label));
  return `<div class="home"><h2>${date}</h2><div class="apps">${all.map((a) =>
    `<span class="app" data-tap="@open" data-arg="${a.package}" aria-label="${a.label}"><i style="background:${a.color}">${icon(a.icon)}</i>${a.label}</span>`).join("")}</div></div>`;
}
function statusBar() {
  const at = new Date(now());
  const time = world.demo ?? `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
  const wifi = setting("global", "wifi_on") === "1" && setting("global", "airplane_mode_on") !== "1" ? icon("wifi", 16) : "";
  document.getElementById("status").innerHTML = `<b>${time}</b><span class="gap"></span>${wifi}<span>100%</span>`;
  document.getElementById("buttons").innerHTML = `<span data-tap="@back">◁</span><span data-tap="@home">○</span><span data-tap="@home">□</span>`;
}

// ---- the keyboard on the screen

const LAYOUT = ["qwertyuiop", "asdfghjkl", "⇧zxcvbnm⌫", "?, .⏎"];
const SYMBOLS = ["1234567890", "@#$%&-+()", "*\"':;!?/⌫", "a, .⏎"];
function keyboard() {
  const place = document.getElementById("keyboard");
  place.hidden = !ui.keyboard;
  if (!ui.keyboard) return;
  place.innerHTML = (ui.symbols ? SYMBOLS : LAYOUT).map((line, last) => `<div class="keys">${[...line].map((c) => {
    const wide = "⇧⌫⏎".includes(c) || (last === 3 && (c === "?" || c === "a"));
    const label = last === 3 && c === "?" ? "?123" : last === 3 && c === "a" ? "abc" : ui.shift && !ui.symbols ? c.toUpperCase() : c;
    return `<span class="key ${wide ? "wide" : ""} ${c === " " ? "space" : ""}" data-key="${esc(label)}">${esc(label)}</span>`;
  }).join("")}</div>`).join("");
}
function pressed(label) {
  const box = document.activeElement;
  if (label === "⇧") ui.shift = !ui.shift;
  else if (label === "?123" || label === "abc") ui.symbols = label === "?123";
  else if (!box?.dataset?.field) return;
  else if (label === "⏎") return entered(box);
  else {
    const [from, to] = [box.selectionStart, box.selectionEnd];
    if (label !== "⌫") box.setRangeText(label, from, to, "end");
    else if (to > 0) box.setRangeText("", from === to ? from - 1 : from, to, "end");
    ui.shift = false;
    typed(box);
  }
}
function typed(box) { top().draft[box.dataset.field] = box.value; }
function reveal(box) {
  const scroller = box.closest(".scroll");
  if (!scroller) return;
  const [a, b] = [box.getBoundingClientRect(), scroller.getBoundingClientRect()];
  if (a.bottom > b.bottom || a.top < b.top) { scroller.scrollTop += a.top - b.top - 24; top().scroll = scroller.scrollTop; }
}
async function entered(box) {
  const at = box.selectionStart;
  if (box.tagName === "TEXTAREA") { box.setRangeText("\n", at, box.selectionEnd, "end"); typed(box); return; }
  if (box.dataset.enter) return tapped(box.dataset.enter, null);
  const boxes = [...document.querySelectorAll("#app [data-field]")];
  const next = boxes[boxes.indexOf(box) + 1];
  if (next) ui.focus = next.dataset.field; else blur();
}

// ---- fingers

let finger = null;
function touched(event) {
  const slider = event.target.closest("[data-slider]");
  finger = { x: event.clientX, y: event.clientY, at: performance.now(), target: event.target, moved: false, slider };
}
function moved(event) {
  if (!finger) return;
  const dy = event.clientY - finger.y;
  if (!finger.moved && Math.hypot(event.clientX - finger.x, dy) < SLOP_PX) return;
  const scroller = finger.target.closest(".scroll");
  if (scroller && !finger.slider) { scroller.scrollTop -= event.clientY - (finger.moved ? finger.last : finger.y); top().scroll = scroller.scrollTop; }
  finger.moved = true; finger.last = event.clientY;
}
function lifted(event) {
  if (!finger) return;
  const { moved: swiped, slider, target, at } = finger;
  finger = null;
  if (slider) return work(() => slid(slider, event.clientX));
  if (swiped) return;
  const held = performance.now() - at >= HOLD_MS && target.closest("[data-hold]");
  if (held) return work(() => tapped(held.dataset.hold, held.dataset.arg));
  const key = target.closest("[data-key]");
  if (key) return work(() => pressed(key.dataset.key));
  const box = target.closest("[data-field]");
  if (box) return work(() => { ui.focus = box.dataset.field; ui.keyboard = true; });
  const hit = target.closest("[data-tap]");
  if (hit) return work(() => tapped(hit.dataset.tap, hit.dataset.arg));
}
async function slid(element, x) {
  const box = element.getBoundingClientRect();
  const share = Math.min(1, Math.max(0, (x - box.left) / (box.width - 1)));
  await apps.get(ui.front).slides[element.dataset.slider](Math.round(share * Number(element.dataset.most)));
}
async function tapped(name, arg) {
  const own = { "@open": () => open(arg), "@up": leave, "@back": back, "@home": home, "@cancel": () => { top().dialog = null; } };
  if (own[name]) return own[name]();
  top().dialog = null;
  await apps.get(ui.front).taps[name](arg, top());
}
async function work(step) {
  busy++;
  try { await step(); await draw(); } finally { busy--; }
}
for (const [name, handler] of [["pointerdown", touched], ["pointermove", moved], ["pointerup", lifted]]) addEventListener(name, handler);
addEventListener("pointercancel", () => { finger = null; });
addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
addEventListener("input", (event) => { if (event.target.dataset.field) typed(event.target); });
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.dataset?.field) return;
  event.preventDefault();
  work(() => entered(event.target));
});

// ---- what the simulator asks of the screen

globalThis.device = {
  answer(id, value, error) {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    error ? reject(new Error(error)) : resolve(value);
  },
  async start(kept, settings, demo, now) {
    ui = kept ?? { front: null, tasks: {}, keyboard: false, shift: false, symbols: false, focus: null };
    world = { settings, demo, now, began: performance.now() };
    await work(async () => {});
  },
  keep: () => ({ ui, now: now() }),
  changed(settings, demo) { world.settings = settings; world.demo = demo; return work(async () => {}); },
  open: (name) => work(() => open(name)),
  stop: (name) => work(() => { delete ui.tasks[name]; if (ui.front === name) home(); }),
  back: () => work(back),
  home: () => work(home),
  front: () => ({ package: ui.front, screen: ui.front ? top().screen : null, keyboard: ui.keyboard }),
  async idle() {
    while (busy) await new Promise((done) => setTimeout(done, 4));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  },
  tree,
};
