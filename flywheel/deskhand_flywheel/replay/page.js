
"use strict";
const episode = JSON.parse(document.getElementById("episode").textContent);
const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
/* every text of the episode enters the page here, as text */
const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined && text !== null) node.textContent = String(text);
  return node;
};
const draw = (tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text !== undefined) node.textContent = String(text);
  return node;
};
const figure = (value, digits = 3) => (value === null ? "–" : Number(value.toFixed(digits)).toString());
const words = (value) => value.replaceAll("_", " ");
const frames = episode.steps.map((step) => ({ step, seen: step.seen }));
if (episode.last) frames.push({ step: null, seen: episode.last });
let now = 0;
let timer = null;

function header() {
  at("task").textContent = `${episode.task} · seed ${episode.seed}`;
  at("instruction").textContent = episode.instruction || "No instruction";
  const chip = (name, value, className) => {
    const item = make("li", className);
    if (name) item.append(make("b", "", name));
    item.append(value);
    at("chips").append(item);
  };
  const outcome = episode.outcome;
  if (outcome) chip("", `${outcome.success ? "Success" : "Not done"} · score ${figure(outcome.score)}`, outcome.success ? "good" : "bad");
  else if (episode.failure) chip("", `Broken: ${words(episode.failure)}`, "warn");
  else chip("", episode.stop ? words(episode.stop) : "Unfinished", "warn");
  chip("policy", episode.update ? `${episode.policy} · update ${episode.update}` : episode.policy);
  chip("split", episode.split);
  chip("turns", String(episode.steps.length));
  if (episode.stop) chip("ended", words(episode.stop));
  if (episode.seconds !== null) chip("took", `${episode.seconds.toFixed(1)} s`);
  if (episode.account) chip("cost", episode.account);
  for (const [key, value] of Object.entries(episode.labels)) chip(key, value);
  const detail = [outcome ? outcome.detail : "", episode.failure_detail].filter(Boolean).join(" · ");
  at("detail").textContent = detail;
  at("detail").hidden = !detail;
  at("footer").textContent = `${episode.id} · started ${episode.started}`;
}

function screen(frame) {
  const { width, height, image } = frame.seen;
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Screenshot, ${width} by ${height} pixels` });
  picture.style.setProperty("--ratio", String(width / height));
  const source = episode.images[image];
  if (source) picture.append(draw("image", { href: source, width, height }));
  else {
    picture.append(draw("rect", { width, height, class: "missing" }));
    picture.append(draw("text", { x: width / 2, y: height / 2, class: "missing-text", "font-size": width / 16 }, "picture missing"));
  }
  const marks = draw("g", { class: "marks" });
  const actions = frame.step ? frame.step.actions : [];
  const pointed = actions.filter((action) => points(action.mark).length);
  pointed.forEach((action, number) => marks.append(...mark(action.mark, width, height, pointed.length > 1 ? number + 1 : null)));
  picture.append(marks);
  at("screen").replaceChildren(picture);
  at("address").hidden = !frame.seen.url;
  at("address").textContent = frame.seen.url || "";
  const said = actions.flatMap((action) => spoken(action.mark));
  at("said").replaceChildren(...said);
  at("said").hidden = !said.length;
}

function points(action) {
  if (action.path) return action.path;
  return action.x === undefined ? [] : [[action.x, action.y]];
}

function mark(action, width, height, number) {
  const size = Math.max(5, Math.min(width, height) * 0.045);
  const path = [...points(action)];
  if (action.type === "scroll") {
    const length = Math.hypot(action.dx_px, action.dy_px) || 1;
    path.push([action.x + (action.dx_px / length) * size * 3.5, action.y + (action.dy_px / length) * size * 3.5]);
  }
  const nodes = [];
  const both = (tag, attributes) => nodes.push(draw(tag, { ...attributes, class: "halo" }), draw(tag, { ...attributes, class: "mark" }));
  const [x, y] = path[0];
  if (path.length > 1) {
    both("polyline", { points: path.map((point) => point.join(",")).join(" ") });
    both("polyline", { points: arrow(path.at(-2), path.at(-1), size) });
  } else if (action.type === "move_pointer") {
    both("path", { d: `M${x - size} ${y}H${x + size}M${x} ${y - size}V${y + size}` });
  } else {
    for (let ring = 0; ring < Math.min(action.count || 1, 3); ring += 1) both("circle", { cx: x, cy: y, r: size * (1 + ring * 0.5), "data-mark": action.type });
  }
  nodes.push(draw("circle", { cx: x, cy: y, r: size * 0.22, class: "dot" }));
  if (number !== null) {
    const [left, top] = [Math.min(x + size * 1.1, width - size), Math.max(y - size * 1.1, size)];
    nodes.push(draw("circle", { cx: left, cy: top, r: size * 0.75, class: "dot" }));
    nodes.push(draw("text", { x: left, y: top, class: "number", "font-size": size }, number));
  }
  return nodes;
}

function arrow([fromX, fromY], [toX, toY], size) {
  const angle = Math.atan2(toY - fromY, toX - fromX);
  const wing = (turn) => [toX - size * Math.cos(angle + turn), toY - size * Math.sin(angle + turn)].join(",");
  return `${wing(0.5)} ${toX},${toY} ${wing(-0.5)}`;
}

function spoken(action) {
  if (action.type === "type_text") return [make("span", "typed", action.text.replaceAll("\n", "⏎"))];
  const keys = action.type === "press" ? action.keys : action.type === "key_down" || action.type === "key_up" ? [action.key] : [];
  return keys.map((key) => make("kbd", "", key === " " ? "Space" : key));
}

function panel(frame) {
  const nodes = frame.step ? stepPanel(frame.step) : [make("h2", "", "End"), ...endPanel()];
  const { output, terminal, text_tree: tree } = frame.seen;
  for (const [title, text] of [["Output", output], ["Terminal", terminal], ["Accessibility tree", tree]]) {
    if (text) nodes.push(make("h3", "", title), make("pre", "", text));
  }
  at("panel").replaceChildren(...nodes);
}

function endPanel() {
  const outcome = episode.outcome;
  const said = outcome ? `${outcome.success ? "The task is done" : "The task is not done"}, score ${figure(outcome.score)}.` : "There is no verdict.";
  return [make("p", "", said), make("p", "why", outcome ? outcome.detail : episode.failure_detail)];
}

function stepPanel(step) {
  const nodes = [make("h2", "", `Turn ${step.index + 1}`)];
  const fault = step.fault ? `${words(step.fault)}: ` : "";
  for (const error of [step.error && fault + step.error, step.action_error]) if (error) nodes.push(make("p", "alert bad", error));
  if (step.review) nodes.push(make("p", "why", step.review));
  if (step.repairs.length) nodes.push(make("p", "why", `The reply was mended: ${step.repairs.join(", ")}.`));
  if (!step.seen.settled) nodes.push(make("p", "alert warn", "The screen was still changing when it was taken."));
  const list = make("ol", "actions");
  for (const action of step.actions) list.append(make("li", "", action.says));
  nodes.push(step.actions.length ? list : make("p", "why", "No action."));
  if (step.answer !== null) nodes.push(make("h3", "", "The user replied"), make("p", "", step.answer));
  if (step.thought) nodes.push(make("h3", "", "Thought"), make("p", "thought", step.thought));
  nodes.push(make("h3", "", "Reply as sampled"), make("pre", "", step.text || "(empty)"));
  if (step.scores.length) nodes.push(make("h3", "", "Scores"), scoreTable(step.scores));
  nodes.push(make("h3", "", "Figures"), figures(step));
  return nodes;
}

function scoreTable(scores) {
  const table = make("table");
  for (const score of scores) {
    const row = table.insertRow();
    const who = row.insertCell();
    who.append(make("div", "", score.scorer));
    if (score.rationale) who.append(make("div", "why", score.rationale));
    row.insertCell().textContent = figure(score.score);
  }
  return table;
}

function figures(step) {
  const list = make("dl");
  const rows = [
    ["Reward", figure(step.reward)], ["Value", figure(step.value)], ["Log-probability", figure(step.logprob)],
    ["Entropy", figure(step.entropy)], ["Prompt tokens", figure(step.prompt_tokens)], ["Reply tokens", figure(step.reply_tokens)],
    ["Model", `${figure(step.model_ms, 0)} ms`], ["Acting", `${figure(step.act_ms, 0)} ms`], ["of it settling", `${figure(step.settle_ms, 0)} ms`],
  ];
  for (const [name, value] of Object.entries(step.cost)) rows.push([words(name), figure(value, 6)]);
  for (const [name, value] of rows) {
    const cell = make("div");
    cell.append(make("dt", "", name), make("dd", "", value));
    list.append(cell);
  }
  return list;
}

function strip() {
  frames.forEach((frame, index) => {
    const step = frame.step;
    const button = make("button", "", step ? index + 1 : "end");
    button.type = "button";
    if (step && (!step.actions.length || step.error || step.action_error)) button.classList.add("void");
    if (step && step.reward > 0) button.classList.add("paid");
    if (step && step.reward < 0) button.classList.add("fined");
    button.setAttribute("aria-label", step ? `Step ${index + 1}` : "End of the episode");
    button.addEventListener("click", () => show(index));
    at("strip").append(button);
  });
}

function curves() {
  const scorers = [...new Set(episode.steps.flatMap((step) => step.scores.map((score) => score.scorer)))];
  const lines = [["value", (step) => step.value], ["reward", (step) => step.reward]];
  for (const scorer of scorers) lines.push([scorer, (step) => step.scores.find((score) => score.scorer === scorer)?.score ?? null]);
  const drawn = lines.map(([name, read]) => [name, episode.steps.map(read)]).filter(([, values]) => values.filter((v) => v !== null).length > 1);
  if (!drawn.length || episode.steps.length < 2) return;
  const all = drawn.flatMap(([, values]) => values).filter((value) => value !== null);
  const low = Math.min(0, ...all), high = Math.max(1, ...all);
  const across = (index) => ((index + 0.5) / frames.length) * 1000;
  const up = (value) => 96 - ((value - low) / (high - low)) * 92;
  const chart = draw("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": "Value, reward and scores over the episode" });
  for (const level of [0, 1]) chart.append(draw("line", { x1: 0, x2: 1000, y1: up(level), y2: up(level), class: "axis" }));
  chart.append(draw("line", { y1: 0, y2: 100, class: "now", id: "cursor" }));
  drawn.forEach(([name, values], number) => {
    const seen = values.map((value, index) => [value, index]).filter(([value]) => value !== null);
    chart.append(draw("polyline", { class: `line-${number % 5}`, points: seen.map(([value, index]) => `${across(index)},${up(value)}`).join(" ") }));
    const key = make("span", "key");
    const swatch = draw("svg", { viewBox: "0 0 16 8", "aria-hidden": "true" });
    swatch.append(draw("polyline", { class: `line-${number % 5}`, points: "0,4 16,4" }));
    key.append(swatch, name);
    at("legend").append(key);
  });
  at("legend").append(make("span", "", `${figure(low, 2)} to ${figure(high, 2)}`));
  at("curves").prepend(chart);
  at("curves").hidden = false;
}

function show(index) {
  if (!frames.length) return;
  now = Math.max(0, Math.min(index, frames.length - 1));
  screen(frames[now]);
  panel(frames[now]);
  const total = episode.steps.length;
  at("position").textContent = frames[now].step ? `Step ${now + 1} of ${total}` : `End, after ${total} steps`;
  for (const [place, button] of [...at("strip").children].entries()) {
    if (place === now) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
  for (const id of ["first", "previous"]) at(id).disabled = now === 0;
  for (const id of ["next", "last"]) at(id).disabled = now === frames.length - 1;
  const cursor = at("cursor");
  if (cursor) for (const side of ["x1", "x2"]) cursor.setAttribute(side, String(((now + 0.5) / frames.length) * 1000));
}

function play(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => (now < frames.length - 1 ? show(now + 1) : play(false)), 1000) : null;
  at("play").textContent = on ? "Pause" : "Play";
  at("play").setAttribute("aria-pressed", String(on));
}

const keys = {
  ArrowLeft: () => show(now - 1), ArrowRight: () => show(now + 1), k: () => show(now - 1), j: () => show(now + 1),
  Home: () => show(0), End: () => show(frames.length - 1), m: () => document.body.classList.toggle("unmarked"),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const onButton = event.target instanceof HTMLButtonElement;
  const does = event.key === " " && !onButton ? () => play(timer === null) : keys[event.key];
  if (!does) return;
  event.preventDefault();
  if (event.key !== " ") play(false);
  does();
});
at("first").addEventListener("click", () => show(0));
at("previous").addEventListener("click", () => show(now - 1));
at("next").addEventListener("click", () => show(now + 1));
at("last").addEventListener("click", () => show(frames.length - 1));
at("play").addEventListener("click", () => { if (timer === null && now === frames.length - 1) show(0); play(timer === null); });

header();
strip();
curves();
if (frames.length) show(0);
else at("panel").replaceChildren(make("p", "", "No step was written."));
