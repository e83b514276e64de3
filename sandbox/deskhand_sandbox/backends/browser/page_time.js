// Runs in every document before its own scripts, where a task controls its pages' time: Date, performance.now,
// timers and animation frames go by a clock that runs at any speed, or stands. Timers run in order, each at the
// very moment it was due; where a page has more to do than time allows, its clock waits for it.
(() => {
  if (globalThis.__deskhandTime) return;
  const START = globalThis.__deskhandStart ?? DESKHAND_START;
  const TURN_MS = 12;       // of real time timers may run before the page is let draw
  const NESTED = 4;         // timers set from timers deeper than this wait at least as long as browsers make them
  const NESTED_MS = 4;
  const RealDate = Date;
  const realNow = performance.now.bind(performance);
  const realSet = window.setTimeout.bind(window);
  const realClear = window.clearTimeout.bind(window);
  const realFrame = window.requestAnimationFrame.bind(window);
  const realCancelFrame = window.cancelAnimationFrame.bind(window);
  let speed = START.speed;
  let at = realNow(), shown = at;      // the clock showed `shown` when it really was `at`
  let pinned = null;                   // what it shows while a timer runs
  const now = () => pinned ?? shown + (realNow() - at) * speed;
  const offset = (start) => start.virtual + (RealDate.now() - start.real) * start.speed - now();
  let dateOffset = offset(START);
  const date = () => Math.floor(now() + dateOffset);

  const timers = new Map();
  const frames = new Map();
  let last = 0, armed = null, drawing = null, depth = 0, running = false;

  const next = () => {
    let found = null;
    for (const timer of timers.values()) if (found === null || timer.due < found.due) found = timer;
    return found;
  };
  const arm = () => {
    if (running) return;
    if (armed !== null) realClear(armed);
    armed = null;
    const first = speed > 0 ? next() : null;
    if (first !== null) armed = realSet(turn, Math.max(0, (first.due - now()) / speed));
  };
  const run = (timer) => {
    if (timer.every === null) timers.delete(timer.id);
    const outer = depth;
    depth = timer.depth;
    pinned = Math.max(timer.due, shown);
    if (timer.every !== null) timer.due = pinned + timer.every;
    try {
      if (typeof timer.callback === 'function') timer.callback.apply(window, timer.values);
      else (0, eval)(String(timer.callback));
    } catch (error) {
      reportError(error);
    } finally {
      depth = outer;
      shown = pinned;
      pinned = null;
    }
  };
  const turn = () => {
    if (armed !== null) realClear(armed);
    armed = null;
    const until = now(), began = realNow();
    let behind = false;
    running = true;
    for (let timer = next(); speed > 0 && timer !== null && timer.due <= until; timer = next()) {
      if (realNow() - began > TURN_MS) { behind = true; break; }
      at = realNow();
      run(timer);
    }
    running = false;
    if (!behind && speed > 0) shown = Math.max(shown, until);
    at = behind || speed === 0 ? realNow() : began;
    arm();
  };
  const add = (callback, delay, every, values) => {
    const level = depth + 1;
    let wait = Math.max(0, Number(delay) || 0);
    if (level > NESTED || every) wait = Math.max(wait, NESTED_MS);
    const id = ++last;
    timers.set(id, { id, callback, values, due: now() + wait, every: every ? wait : null, depth: level });
    arm();
    return id;
  };
  window.setTimeout = function setTimeout(callback, delay, ...values) {
    return add(callback, delay, false, values);
  };
  window.setInterval = function setInterval(callback, delay, ...values) {
    return add(callback, delay, true, values);
  };
  const clear = (id) => { timers.delete(Number(id)); };
  window.clearTimeout = function clearTimeout(id) { clear(id); };
  window.clearInterval = function clearInterval(id) { clear(id); };

  const draw = () => {
    drawing = null;
    if (speed === 0) return;
    turn();
    const asked = [...frames.values()];
    frames.clear();
    pinned = now();
    for (const callback of asked) {
      try { callback(pinned); } catch (error) { reportError(error); }
    }
    shown = pinned;
    at = realNow();
    pinned = null;
    arm();
  };
  const askFrame = () => {
    if (drawing === null && speed > 0 && frames.size > 0) drawing = realFrame(draw);
  };
  window.requestAnimationFrame = function requestAnimationFrame(callback) {
    const id = ++last;
    frames.set(id, callback);
    askFrame();
    return id;
  };
  window.cancelAnimationFrame = function cancelAnimationFrame(id) { frames.delete(id); };

  Performance.prototype.now = function now_() { return now(); };
  function PageDate(...values) {
    if (!new.target) return new RealDate(date()).toString();
    return Reflect.construct(RealDate, values.length ? values : [date()], new.target);
  }
  PageDate.prototype = RealDate.prototype;
  PageDate.prototype.constructor = PageDate;
  Object.assign(PageDate, { parse: RealDate.parse, UTC: RealDate.UTC, now: () => date() });
  Object.defineProperty(PageDate, 'name', { value: 'Date' });
  globalThis.Date = PageDate;

  const set = (wanted) => {
    // what was due by now runs by the clock that is ending, and that has shown no later moment then
    if (speed > 0) turn();
    at = realNow();
    speed = wanted;
    if (speed === 0 && drawing !== null) { realCancelFrame(drawing); drawing = null; }
    arm();
    askFrame();
    return [date(), RealDate.now()];
  };
  // in a document that has only begun: the clock as it is by now
  const begin = (start) => {
    set(start.speed);
    dateOffset = offset(start);
  };
  const real = { setTimeout: realSet, requestAnimationFrame: realFrame, now: realNow };
  Object.defineProperty(globalThis, '__deskhandTime', {
    value: Object.freeze({ real, set, begin, stands: () => speed === 0 }),
  });
})();
