"use strict";
const PARTS = [["hours", "Hours"], ["minutes", "Minutes"], ["seconds", "Seconds"]];
const number = (text) => (/^\d+$/.test(text ?? "") ? Number(text) : 0);
const timer = async (name) => (await rows("timers", `name = ${sql(name)}`))[0];
const run = (name) => (t) => t.seconds + (t.state === "running" ? Math.floor((now() - t.since) / 1000) * (name === "timer" ? -1 : 1) : 0);
defineApp({
  package: "org.deskhand.clock", label: "Clock", color: "#3c5bb8", icon: "clock",
  screens: {
    async main(_, at) {
      const tab = at.args.tab ?? "Alarm";
      const above = tabs(["Alarm", "Timer", "Stopwatch"], tab, "tab");
      if (tab === "Alarm") {
        const found = (await rows("alarms")).map((a) => toggle({ title: `${pad(a.hour)}:${pad(a.minute)}`, sub: a.label, tap: "turn", arg: a._id, on: a.enabled }));
        return { title: "Clock", above, body: list(found) || `<p class="empty">No alarms</p>`, fab: { label: "Add alarm", tap: "add" } };
      }
      const name = tab.toLowerCase();
      const t = await timer(name);
      const running = t.state === "running";
      const left = Math.max(0, run(name)(t));
      const turns = running ? button("Pause", "pause", name) : button(t.state === "paused" ? "Resume" : "Start", "start", name);
      const entry = name === "timer" && t.state === "reset"
        ? `<div class="row">${PARTS.map(([key, label]) => field({ name: key, label, kind: "numeric" })).join("")}</div><div class="row centre">${button("Set", "set", null, "quiet")}</div>` : "";
      return { title: "Clock", above, ticks: running, body: `<div class="dial">${spoken(left)}</div>${entry}<div class="row centre" style="padding-top:20px">${turns}${button("Reset", "reset", name, "quiet")}</div>` };
    },
    async alarm() {
      return { title: "New alarm", body: `<div class="row">${field({ name: "hour", label: "Hour", kind: "numeric" })}${field({ name: "minute", label: "Minute", kind: "numeric" })}</div>`
        + field({ name: "label", label: "Label" }) + button("Save", "save") };
    },
  },
  taps: {
    tab: (tab, at) => { blur(); at.args.tab = tab; at.draft = {}; },
    add: () => go("alarm"),
    async turn(id) { await update("alarms", { enabled: (await rows("alarms", `_id = ${id}`))[0]?.enabled ? 0 : 1 }, `_id = ${id}`); },
    async save(_, { draft }) {
      const [hour, minute] = [number(draft.hour), number(draft.minute)];
      if (!/^\d+$/.test(draft.hour ?? "") || hour > 23 || minute > 59) return;
      await insert("alarms", { hour, minute, label: draft.label ?? "" });
      leave();
    },
    async set(_, at) {
      const [h, m, s] = PARTS.map(([key]) => number(at.draft[key]));
      await update("timers", { seconds: h * 3600 + m * 60 + s, state: "reset" }, "name = 'timer'");
      at.draft = {}; blur();
    },
    async start(name) {
      const t = await timer(name);
      if (name === "timer" && t.seconds <= 0) return;
      await update("timers", { state: "running", since: Math.round(now()) }, `name = ${sql(name)}`);
    },
    async pause(name) { await update("timers", { seconds: Math.max(0, run(name)(await timer(name))), state: "paused" }, `name = ${sql(name)}`); },
    reset: (name) => update("timers", { seconds: 0, state: "reset", since: 0 }, `name = ${sql(name)}`),
  },
});
