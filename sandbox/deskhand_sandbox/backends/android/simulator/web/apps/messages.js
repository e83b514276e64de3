"use strict";
const bare = (text) => text.replace(/[^\d+]/g, "");
const called = async (address) => (await rows("contacts")).find((c) => bare(c.number) === bare(address))?.name ?? address;
defineApp({
  package: "org.deskhand.messages", label: "Messages", color: "#7a4fb5", icon: "chat",
  screens: {
    async main() {
      const threads = new Map();
      for (const m of await rows("sms")) { threads.delete(m.address); threads.set(m.address, m); }
      const names = new Map();
      for (const address of threads.keys()) names.set(address, await called(address));
      const body = [...threads.values()].reverse().map((m) => item({ title: names.get(m.address), sub: (m.type === 2 ? "You: " : "") + m.body, tap: "view", arg: m.address,
        lead: face(names.get(m.address)), trail: `<small>${day(m.date)}</small>`, kind: m.read ? "" : "unread" }));
      return { title: "Messages", body: list(body) || `<p class="empty">No conversations</p>`, fab: { label: "Start chat", tap: "add" } };
    },
    async to(_, at) {
      const found = (await rows("contacts")).filter((c) => c.number);
      return { title: "New conversation", body: field({ name: "to", label: "To (number)", kind: "tel", enter: "number" }) + `<div class="row" style="padding-bottom:14px">${button("Next", "number", null, "quiet")}</div>`
        + list(found.map((c) => item({ title: c.name, sub: c.number, tap: "chosen", arg: c.number, lead: face(c.name) }))) };
    },
    async thread({ address }, at) {
      const found = await rows("sms", `address = ${sql(address)}`);
      at.scroll = "end";
      return { title: await called(address), body: `<div class="bubbles">${found.map((m) => `<span class="bubble ${m.type === 2 ? "mine" : ""}">${esc(m.body)}</span>`).join("")}</div>`,
        foot: `<div class="compose"><input type="text" data-field="text" data-enter="send" aria-label="Text message" placeholder="Text message" autocomplete="off" spellcheck="false"${attr("value", at.draft.text)}>
        <span class="icon on" data-tap="send" aria-label="Send">${icon("send")}</span></div>` };
    },
  },
  taps: {
    add: () => go("to"),
    async view(address) { await update("sms", { read: 1 }, `address = ${sql(address)}`); go("thread", { address }); },
    chosen: (address) => { stack().pop(); go("thread", { address }); },
    number: (_, at) => { const address = at.draft.to?.trim(); if (address) { stack().pop(); go("thread", { address }); } },
    async send(_, at) {
      if (!at.draft.text?.trim()) return;
      await insert("sms", { address: at.args.address, body: at.draft.text, date: Math.round(now()), type: 2 });
      at.draft = {};
    },
  },
});
