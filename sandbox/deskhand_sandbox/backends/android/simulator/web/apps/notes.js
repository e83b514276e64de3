"use strict";
defineApp({
  package: "org.deskhand.notes", label: "Notes", color: "#c07a1c", icon: "note",
  screens: {
    async main() {
      const found = await rows("notes");
      const body = found.map((n) => item({ title: n.title, sub: n.body.replace(/\s+/g, " "), tap: "view", arg: n._id, trail: n.pinned ? icon("pin", 18) : "" }));
      return { title: "Notes", body: list(body) || `<p class="empty">No notes</p>`, fab: { label: "New note", tap: "add" } };
    },
    async edit({ id }) {
      const [n] = id ? await rows("notes", `_id = ${id}`) : [{}];
      const { title, body, pinned } = n ?? {};
      const actions = id ? [{ label: pinned ? "Unpin" : "Pin", icon: "pin", tap: "pin", arg: id, on: pinned }, { label: "Delete", icon: "bin", tap: "drop", arg: id }] : [];
      const fields = field({ name: "title", label: "Title", value: title }) + field({ name: "body", label: "Text", value: body, long: true });
      return { title: id ? "Note" : "New note", actions, body: fields + button("Save", "save", id) };
    },
  },
  taps: {
    add: () => go("edit", {}),
    view: (id) => go("edit", { id }),
    async pin(id) { await update("notes", { pinned: (await rows("notes", `_id = ${id}`))[0]?.pinned ? 0 : 1 }, `_id = ${id}`); },
    drop: (id) => confirmed("Delete this note?", "Delete", "dropped", id),
    async dropped(id) { await remove("notes", `_id = ${id}`); leave(); },
    async save(id, { draft }) {
      const values = { ...draft };
      if (id ? values.title === "" : !values.title) return;
      if (id && Object.keys(values).length) await update("notes", values, `_id = ${id}`);
      if (!id) await insert("notes", values);
      leave();
    },
  },
});
