// Runs in every page before its own scripts, and knows whether anything is still under way there:
// loading, finite animations, timers about to fire, and loops that keep changing the page.
(() => {
  if (globalThis.__deskhand) return;
  const HORIZON_MS = 700;      // a timer further away than this is not waited for
  const LOOP_INTERVAL_MS = 200; // an interval at most this long counts as a loop
  const CHAIN = 4;             // timers set from timers more often than this in a row are a loop too
  const STILL_MS = 60;         // a loop that changes nothing for this long does not count
  const POLL_MS = 8;
  const now = () => performance.now();
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
  let changedAt = 0;

  const nested = (level, callback, self, values) => {
    const outer = depth;
    depth = level;
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
    const id = nativeSetInterval(callback, delay, ...values);
    if ((Number(delay) || 0) <= LOOP_INTERVAL_MS) loops.add(id);
    return id;
  };
  window.clearInterval = function clearInterval(id) {
    due.delete(id); loops.delete(id); nativeClearInterval(id);
  };
  window.requestAnimationFrame = function requestAnimationFrame(callback) {
    const id = nativeFrame((time) => { frames.delete(id); callback(time); });
    frames.add(id);
    return id;
  };
  window.cancelAnimationFrame = function cancelAnimationFrame(id) {
    frames.delete(id); nativeCancelFrame(id);
  };
  const watcher = new MutationObserver(() => { changedAt = now(); });
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
  const busy = (since) => {
    if (document.readyState !== 'complete' || awaited() || animated()) return true;
    if (looping() && now() - Math.max(changedAt, since) < STILL_MS) return true;
    for (let index = 0; index < window.frames.length; index++) {
      try {
        if (window.frames[index].__deskhand?.busy(since)) return true;
      } catch { /* a frame of another origin keeps its own counsel */ }
    }
    return false;
  };
  // true once nothing is under way, false after `limit` milliseconds
  const settle = (limit) => {
    const since = now();
    if (!busy(since)) return true;
    return new Promise((resolve) => {
      const look = () => {
        if (!busy(since)) resolve(true);
        else if (now() - since >= limit) resolve(false);
        else nativeSet(look, POLL_MS);
      };
      nativeSet(look, POLL_MS);
    });
  };
  Object.defineProperty(globalThis, '__deskhand', { value: Object.freeze({ busy, settle }) });
})();
