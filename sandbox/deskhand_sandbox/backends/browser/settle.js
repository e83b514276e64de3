// Runs in every page before its own scripts, and knows whether anything is still under way there:
// loading, finite animations, timers about to fire, and loops that keep changing the page.
(() => {
  if (globalThis.__deskhand) return;
  const HORIZON_MS = 700;      // a timer further away than this is not waited for
  const LOOP_INTERVAL_MS = 100; // an interval at most this long counts as a loop
  const CHAIN = 4;             // timers set from timers more often than this in a row are a loop too
  const STILL_MS = 40;         // a loop that changes nothing for this long and this many turns does not count
  const STILL_TURNS = 3;
  const POLL_MS = 8;
  // where a task controls the pages' time, this watch keeps the real one
  const real = globalThis.__deskhandTime?.real ?? {
    setTimeout: window.setTimeout.bind(window),
    requestAnimationFrame: window.requestAnimationFrame.bind(window),
    now: performance.now.bind(performance),
  };
  const now = real.now;
  const stands = globalThis.__deskhandTime?.stands ?? (() => false);
  const nativeSet = window.setTimeout.bind(window);
  const nativeClear = window.clearTimeout.bind(window);
  const nativeSetInterval = window.setInterval.bind(window);
  const nativeClearInterval = window.clearInterval.bind(window);
  const nativeFrame = window.requestAnimationFrame.bind(window);
  const nativeCancelFrame = window.cancelAnimationFrame.bind(window);
  const due = new Map();       // one-shot timers: id -> [when, depth]
  const loops = new Set();     // intervals
  const frames = new Set();    // animation frames
  let depth = 0;               // of the timer whose callback runs
  let turns = 0;               // of any loop
  let changedAt = 0, changedTurn = 0;
  let askedAt = 0, askedTurn = 0;

  const nested = (level, callback, self, values) => {
    const outer = depth;
    depth = level;
    if (level > CHAIN) turns += 1;
    try {
      if (typeof callback === 'function') callback.apply(self, values);
      else (0, eval)(String(callback));
    } finally {
      depth = outer;
    }
  };
  window.setTimeout = function setTimeout(callback, delay, ...values) {
    const level = depth + 1;
    const id = nativeSet(function () { due.delete(id); nested(level, callback, this, values); }, delay);
    const wait = Number(delay) || 0;
    if (wait <= HORIZON_MS) due.set(id, [now() + wait, level]);
    return id;
  };
  window.clearTimeout = function clearTimeout(id) {
    due.delete(id); loops.delete(id); nativeClear(id);
  };
  window.setInterval = function setInterval(callback, delay, ...values) {
    const quick = (Number(delay) || 0) <= LOOP_INTERVAL_MS;
    const id = nativeSetInterval(function () {
      if (quick) turns += 1;
      nested(0, callback, this, values);
    }, delay);
    if (quick) loops.add(id);
    return id;
  };
  window.clearInterval = function clearInterval(id) {
    due.delete(id); loops.delete(id); nativeClearInterval(id);
  };
  window.requestAnimationFrame = function requestAnimationFrame(callback) {
    const id = nativeFrame((time) => { frames.delete(id); turns += 1; callback(time); });
    frames.add(id);
    return id;
  };
  window.cancelAnimationFrame = function cancelAnimationFrame(id) {
    frames.delete(id); nativeCancelFrame(id);
  };
  const watcher = new MutationObserver(() => { changedAt = now(); changedTurn = turns; });
  watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });

  const looping = () => {
    if (loops.size > 0 || frames.size > 0) return true;
    for (const [, level] of due.values()) if (level > CHAIN) return true;
    return false;
  };
  const animated = () => document.getAnimations().some((each) =>
    each.playState === 'running' && Number.isFinite(each.effect?.getComputedTiming().endTime));
  const awaited = () => {
    for (const [, level] of due.values()) if (level <= CHAIN) return true;
    return false;
  };
  const changing = () => now() - Math.max(changedAt, askedAt) < STILL_MS
    || turns - Math.max(changedTurn, askedTurn) < STILL_TURNS;
  const inside = function* () {
    for (let index = 0; index < window.frames.length; index++) {
      try {
        const frame = window.frames[index].__deskhand;
        if (frame) yield frame;
      } catch { /* a frame of another origin keeps its own counsel */ }
    }
  };
  const ask = () => {
    askedAt = now();
    askedTurn = turns;
    for (const frame of inside()) frame.ask();
  };
  const busy = () => {
    if (document.readyState !== 'complete') return true;
    if (!stands() && (awaited() || animated() || (looping() && changing()))) return true;
    for (const frame of inside()) if (frame.busy()) return true;
    return false;
  };
  // true once nothing is under way, false after `limit` milliseconds
  const settle = (limit) => {
    const since = now();
    ask();
    if (!busy()) return true;
    return new Promise((resolve) => {
      const look = () => {
        if (!busy()) resolve(true);
        else if (now() - since >= limit) resolve(false);
        else real.setTimeout(look, POLL_MS);
      };
      real.setTimeout(look, POLL_MS);
    });
  };
  // resolves once the page has drawn twice
  const frame = () => new Promise((done) => {
    real.requestAnimationFrame(() => real.requestAnimationFrame(() => done(true)));
  });
  Object.defineProperty(globalThis, '__deskhand', { value: Object.freeze({ ask, busy, frame, settle }) });
})();
