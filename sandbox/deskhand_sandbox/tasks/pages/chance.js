"use strict";
// A seeded source of chance, for every page here.

/** The split that whatever a text names belongs to. */
function splitOf(text) {
  const share = chance(text).next();
  return share < 0.8 ? "train" : share < 0.9 ? "validation" : "test";
}

/** Numbers from 0 to 1, the same for the same text (mulberry32 over an FNV-1a hash). */
function chance(text) {
  let state = 2166136261;
  for (const character of text) state = Math.imul(state ^ character.codePointAt(0), 16777619);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return {
    next,
    below: (n) => Math.floor(next() * n),
    pick(items) { return items[Math.floor(next() * items.length)]; },
    shuffled(items) {
      const made = [...items];
      for (let i = made.length - 1; i > 0; i--) {
        const j = Math.floor(next() * (i + 1));
        [made[i], made[j]] = [made[j], made[i]];
      }
      return made;
    },
  };
}
