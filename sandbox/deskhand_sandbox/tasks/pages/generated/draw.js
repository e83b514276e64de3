"use strict";
// What a page is made of before it has a layout: words, names, numbers, and looks. Every part of it is split in
// two for ever, by a hash: what training pages are made of, and what only pages of the test show.

/** Of every kind of part, the share only test pages show is one in TEST_PARTS. */
const TEST_PARTS = 10;

function isTestWord(word) {
  let hash = 2166136261;
  for (const character of word.toLowerCase()) hash = Math.imul(hash ^ character.codePointAt(0), 16777619);
  return ((hash ^ (hash >>> 15)) >>> 0) % TEST_PARTS === 0;
}

const VOCABULARY = (() => {
  const found = { train: {}, test: {} };
  for (const [language, text] of Object.entries(WORDS)) {
    const words = text.trim().split(/\s+/);
    found.test[language] = words.filter(isTestWord);
    found.train[language] = words.filter((word) => !isTestWord(word));
  }
  return found;
})();

/** Those of `fonts.css`, and those every machine with this backend has. */
const FONTS = {
  train: [
    "ABeeZee", "Abel", "Acme", "Albert Sans", "Alegreya", "Alegreya Sans", "Amiri", "Anonymous Pro",
    "Anton", "Archivo", "Archivo Narrow", "Arvo", "Asap", "Assistant", "Baloo 2", "Barlow",
    "Be Vietnam Pro", "Bitter", "Bree Serif", "Cabin", "Cantarell", "Cardo", "Catamaran", "Comfortaa",
    "Comic Neue", "Courier Prime", "Crete Round", "Crimson Pro", "Crimson Text", "Cutive Mono",
    "DejaVu Sans", "DejaVu Sans Mono", "DejaVu Serif", "Didact Gothic", "DM Mono", "DM Sans",
    "DM Serif Display", "Domine", "Dosis", "Economica", "Encode Sans", "Exo", "Exo 2", "Figtree",
    "Fira Mono", "Fira Sans", "Fraunces", "Fredoka", "Gelasio", "Gentium Book Plus", "Gudea",
    "Hammersmith One", "Heebo", "Hind", "IBM Plex Mono", "IBM Plex Sans", "Inconsolata", "Inter",
    "Istok Web", "JetBrains Mono", "Josefin Sans", "Josefin Slab", "Jost", "Kanit", "Karla", "Lato",
    "Lexend", "Liberation Mono", "Liberation Sans", "Liberation Sans Narrow", "Liberation Serif",
    "Libre Baskerville", "Libre Bodoni", "Libre Caslon Text", "Literata", "Lora", "Lusitana", "Mali",
    "Manrope", "Marcellus", "Maven Pro", "Merriweather", "Montserrat", "Mukta", "Mulish", "Neuton",
    "News Cycle", "Newsreader", "Noticia Text", "Noto Sans", "Noto Serif", "Nova Mono", "Old Standard TT",
    "Oswald", "Outfit", "Overpass", "Overpass Mono", "Oxygen", "Pathway Gothic One", "Patrick Hand",
    "Philosopher", "Playfair Display", "Plus Jakarta Sans", "Poppins", "Prompt", "PT Sans", "PT Serif",
    "Public Sans", "Puritan", "Questrial", "Raleway", "Red Hat Display", "Red Hat Mono", "Righteous",
    "Roboto", "Rokkitt", "Ropa Sans", "Rubik", "Ruda", "Rufina", "Saira", "Sarabun", "Share Tech Mono",
    "Signika", "Slabo 27px", "Sniglet", "Sora", "Sorts Mill Goudy", "Source Code Pro", "Source Sans 3",
    "Source Serif 4", "Space Grotesk", "Space Mono", "Spectral", "Tajawal", "Telex", "Titillium Web",
    "Unna", "Urbanist", "Varela Round", "Voces", "Vollkorn", "Work Sans", "Yanone Kaffeesatz", "Zilla Slab",
  ],
  test: ["EB Garamond", "Nunito", "Open Sans", "Quicksand"],
};

/** Those that pages which name no font of their own are shown in, and the share of training pages they have besides. */
const COMMON_FONTS = ["Liberation Sans", "Liberation Sans", "Liberation Serif", "Liberation Mono", "DejaVu Sans"];
const COMMON = 0.15;

/** Names of tones with colours that a person would call so: [background, ink] of a filled thing, or ink alone. */
const TONES = {
  red: [["#c62828", "#fff"], ["#e53935", "#fff"], ["#b71c1c", "#fff"], ["#ff5252", "#000"]],
  green: [["#2e7d32", "#fff"], ["#43a047", "#fff"], ["#1b8a3a", "#fff"], ["#66bb6a", "#000"]],
  blue: [["#1565c0", "#fff"], ["#1e88e5", "#fff"], ["#0d47a1", "#fff"], ["#42a5f5", "#000"]],
  yellow: [["#fdd835", "#000"], ["#ffeb3b", "#000"], ["#f9d71c", "#000"]],
  orange: [["#ef6c00", "#fff"], ["#fb8c00", "#000"], ["#ff9800", "#000"]],
  purple: [["#6a1b9a", "#fff"], ["#8e24aa", "#fff"], ["#7b1fa2", "#fff"]],
  gray: [["#616161", "#fff"], ["#757575", "#fff"], ["#9e9e9e", "#000"]],
  black: [["#111", "#fff"], ["#212121", "#fff"]],
  white: [["#fff", "#222"]],
};

/** Ground, ink, soft ink, line, field of a page. */
const GROUNDS = {
  train: [
    ["#fff", "#111", "#666", "#bbb", "#fff"], ["#fff", "#000", "#555", "#888", "#fff"],
    ["#f5f5f5", "#222", "#666", "#ccc", "#fff"], ["#eef2f7", "#1c2733", "#5b6b7b", "#c3cedb", "#fff"],
    ["#faf6ee", "#2b2417", "#75684d", "#d8ccb2", "#fffdf8"], ["#e8f0e8", "#152015", "#4f634f", "#b5c7b5", "#fff"],
    ["#1e1e1e", "#eee", "#aaa", "#555", "#2b2b2b"], ["#10202c", "#dfe9f0", "#8fa7b8", "#38505f", "#182c3a"],
    ["#dcdcdc", "#111", "#444", "#999", "#fff"], ["#fdf2f5", "#2c1118", "#7d5562", "#e2c3cd", "#fff"],
  ],
  test: [["#f0eefc", "#1a1433", "#5f5885", "#c9c2ea", "#fff"], ["#2a1f2d", "#f3e9f5", "#b79fbd", "#5c4762", "#382a3c"]],
};

/** Of training pages, the share whose ground is of any hue: ten grounds can be known by heart as well. */
const ANY_GROUND = 0.5;

/** Of hue, saturation and lightness (0 to 360, 0 to 1, 0 to 1). */
function hex(hue, saturation, lightness) {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  return `#${[0, 8, 4].map((turn) => {
    const place = (turn + hue / 30) % 12;
    const part = lightness - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1));
    return Math.round(255 * part).toString(16).padStart(2, "0");
  }).join("")}`;
}

/** A ground of any hue, as in `GROUNDS`; three of ten are dark. */
function anyGround(random) {
  const within = (low, high) => low + random.next() * (high - low);
  const hue = random.next() * 360, dark = random.next() < 0.3;
  const lightness = dark
    ? [[0.05, 0.16], [0.84, 1], [0.6, 0.74], [0.3, 0.45], [0.12, 0.2]]
    : [[0.82, 1], [0, 0.17], [0.3, 0.46], [0.62, 0.8], [0.96, 1]];
  const saturation = within(0, dark ? 0.45 : 0.6);
  return lightness.map(([low, high], part) => hex(hue, part === 0 ? saturation : saturation * 0.5, within(low, high)));
}

/** Of the words of training pages, the share that is of no language: who knows ten thousand words by heart has
 * not learned to read. */
const COINED = 0.5;

/** Everything drawn at random about one page comes from here. */
function drawing(random, options) {
  const split = options.split === "test" ? "test" : "train";
  const words = VOCABULARY[split];
  const used = new Set();
  const chosen = random.next() < 0.7 ? "en" : random.pick(Object.keys(words));
  const between = (low, high) => low + random.below(high - low + 1);
  const maybe = (share) => random.next() < share;
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const lower = (text) => text.toLowerCase().replace("\u0307", ""); // of İ a dot of its own is left
  const casing = random.pick(["lower", "capital", "capital", "capital", "mixed"]);

  /** The first letters of one word and the last of another. */
  function coined() {
    for (;;) {
      const [one, other] = [random.pick(words[chosen]), random.pick(words[chosen])];
      const made = one.slice(0, 1 + random.below(one.length)) + lower(other.slice(random.below(other.length)));
      if (made.length > 1 && !isTestWord(made)) return made;
    }
  }

  function word(longest = 12) {
    for (let tries = 0; ; tries++) {
      const found = split === "train" && maybe(COINED) ? coined() : random.pick(words[chosen]);
      if (found.length > longest && tries < 200) continue;
      const shown = casing === "capital" || (casing === "mixed" && maybe(0.5)) ? capital(found) : found;
      if (used.has(shown.toLowerCase()) && tries < 200) continue;
      used.add(shown.toLowerCase());
      return shown;
    }
  }
  /** One to `most` words no page thing has been called by yet. */
  function label(most = 2, longest = 12) {
    const parts = [word(longest)];
    while (parts.length < most && maybe(0.35)) {
      const next = word(Math.max(3, longest - parts.join(" ").length - 1));
      if (parts.join(" ").length + 1 + next.length > longest + 4) break;
      parts.push(parts.length ? lower(next) : next);
    }
    return parts.join(" ");
  }
  const sentence = (count) => `${capital(Array.from({ length: count }, () => lower(word())).join(" "))}.`;
  const number = (low, high) => String(between(low, high));
  const ground = random.pick(GROUNDS[split]);
  const look = {
    font: random.pick(split === "train" && maybe(COMMON) ? COMMON_FONTS : FONTS[split]),
    size: random.pick([10, 11, 11, 12, 12, 12, 13, 13, 14, 15, 16]),
    ground,
    accent: random.pick(TONES[random.pick(["red", "green", "blue", "blue", "purple", "orange", "gray", "black"])]),
    radius: random.pick([0, 0, 2, 3, 4, 6, 8, 12]),
    line: random.pick([1, 1, 1, 2]),
    gap: random.pick([2, 3, 4, 5, 6, 8]),
    pad: random.pick([[1, 3], [2, 4], [2, 6], [3, 7], [4, 8], [5, 10]]),
    bold: maybe(0.3),
    shadow: maybe(0.25),
    upper: maybe(0.08),
    native: maybe(0.35),
    spacing: 0,
    slanted: false,
  };
  // a few fonts and grounds stand for all there are: training pages stretch and slant them, and have others
  if (split === "train") {
    look.size += random.pick([0, 0, 0.25, 0.5, 0.75]);
    look.spacing = random.pick([0, 0, 0, 0, -0.3, 0.3, 0.6, 1]);
    look.slanted = maybe(0.1);
    if (maybe(ANY_GROUND)) look.ground = anyGround(random);
  }
  return { random, split, between, maybe, word, label, sentence, number, look, pick: random.pick };
}
