"use strict";
// How a person would point a thing out: by its text, its role, its colour, its number among its like, or by what
// stands beside it. Only what fits one thing alone is said, and no name that is nowhere to be read.

const NUMBERS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"];
/** Roles whose name is the text a click lands on; others are called by a text beside them. */
const NAMED_ON = new Set(["button", "link", "tab", "item", "cell", "column head", "heading", "section"]);

const boxOf = (thing) => thing.element.getBoundingClientRect();
const within = (a, b, low, high) => Math.min(a[high], b[high]) - Math.max(a[low], b[low])
  > 0.5 * Math.min(a[high] - a[low], b[high] - b[low]);

/** Ways to look from one thing: the edges it is left by and others are met at, and the edges of the line looked along. */
const WAYS = [
  { words: "right of", leave: "right", meet: "left", low: "top", high: "bottom", sign: 1 },
  { words: "left of", leave: "left", meet: "right", low: "top", high: "bottom", sign: -1 },
  { words: "below", leave: "bottom", meet: "top", low: "left", high: "right", sign: 1 },
  { words: "above", leave: "top", meet: "bottom", low: "left", high: "right", sign: -1 },
];

/** The first of some things met on a way from another. */
function nearest(from, candidates, { leave, meet, low, high, sign }) {
  const base = boxOf(from);
  return candidates
    .filter((other) => other !== from && within(base, boxOf(other), low, high)
      && sign * (boxOf(other)[meet] - base[leave]) >= -1)
    .sort((a, b) => sign * (boxOf(a)[meet] - boxOf(b)[meet]))[0];
}

/** Of red, green and blue, from 0 to 255: colours nearer than this in each have one name. */
const NEAR = 32;
const shades = ({ role, element }) =>
  getComputedStyle(element)[role === "icon" ? "color" : "backgroundColor"].match(/\d+/g).map(Number);

/** Whether two things look as if of one colour: one without a tone may have the page's white. */
function sameColor(one, other) {
  const theirs = shades(other);
  return shades(one).every((shade, index) => Math.abs(shade - theirs[index]) < NEAR);
}

/** Whether a name is written on an element, around it, or in it while it is an empty field, and no letter is hidden. */
function legible({ element, role, name }) {
  if (role === "icon") return true; // it is drawn
  if (element.placeholder === name) return !element.value && fitsIn(element, name);
  const text = textOf(element, name), range = document.createRange();
  if (!text) return false;
  range.selectNodeContents(text);
  return [...range.getClientRects()].every((line) =>
    [line.left + 2, line.right - 2].every((x) => shows(text.parentElement, x, (line.top + line.bottom) / 2)));
}

/** The name as it stands on an element, or else nearest around it; null: nowhere. */
function textOf(element, name) {
  for (let place = element; place; place = place.parentElement) {
    const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      if (texts.currentNode.data.replace(/:$/, "").toUpperCase() === name.toUpperCase()) return texts.currentNode;
    }
  }
  return null;
}

/** Whether all of a text shows in a field at whose left it begins. */
function fitsIn(field, text) {
  const style = getComputedStyle(field), pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  pen.letterSpacing = style.letterSpacing;
  const [before, after] = [style.paddingLeft, style.paddingRight].map(parseFloat), { width } = pen.measureText(text);
  const { left, top, bottom } = field.getBoundingClientRect(), from = left + field.clientLeft + before;
  return width <= field.clientWidth - before - after
    && [from, from + width].every((x) => shows(field, x, (top + bottom) / 2));
}

function shows(element, x, y) {
  const hit = document.elementFromPoint(x, y);
  return hit !== null && element.contains(hit);
}

/** [kind, words] of a thing among those that are seen; kinds: "text", "role", "color", "ordinal", "relation". */
function descriptions(thing, seen) {
  const like = seen.filter((other) => other.role === thing.role);
  const named = seen.filter((other) => other.name === thing.name);
  const found = [], role = thing.role, read = legible(thing);
  if (read && named.length === 1 && NAMED_ON.has(role)) found.push(["text", `"${thing.name}"`]);
  if (read && like.filter((other) => other.name === thing.name).length === 1) {
    const tied = role === "plus button" || role === "minus button" ? "of" : "named";
    const before = NAMED_ON.has(role) || role === "icon";
    found.push(["role", before ? `the ${thing.name} ${role}` : `the ${role} ${tied} ${thing.name}`]);
  }
  if (thing.tone && like.filter((other) => other.tone === thing.tone || sameColor(other, thing)).length === 1) {
    found.push(["color", `the ${thing.tone} ${role}`]);
  }
  if (like.length > 1 && thing.row === undefined) {
    // in reading order: lines from above, in a line from the left
    const order = [...like].sort((a, b) => {
      const one = boxOf(a), other = boxOf(b);
      return within(one, other, "top", "bottom") ? one.left - other.left : one.top - other.top;
    });
    const place = order.indexOf(thing);
    if (place < NUMBERS.length) found.push(["ordinal", `the ${NUMBERS[place]} ${role}`]);
    if (place === order.length - 1) found.push(["ordinal", `the last ${role}`]);
  }
  if (thing.row !== undefined && thing.row !== thing.name
    && [thing.row, thing.column].every((name) => legible({ ...thing, name }))) {
    found.push(["relation", `the ${thing.column} of ${thing.row}`]);
  }
  for (const way of WAYS) {
    const anchor = seen.find((other) => other !== thing && NAMED_ON.has(other.role)
      && seen.filter((each) => each.name === other.name).length === 1 && nearest(other, like, way) === thing
      && legible(other));
    if (anchor) found.push(["relation", `the ${role} ${way.words} "${anchor.name}"`]);
  }
  return found;
}
