"use strict";
defineApp({
  package: "org.deskhand.contacts", label: "Contacts", color: "#2f7d5b", icon: "person",
  screens: {
    async main() {
      const found = await rows("contacts");
      const body = found.map((c) => item({ title: c.name, sub: c.number, tap: "view", arg: c._id, lead: face(c.name) }));
      return { title: "Contacts", body: list(body) || `<p class="empty">No contacts</p>`, fab: { label: "Add contact", tap: "add" } };
    },
    async view({ id }) {
      const [c] = await rows("contacts", `_id = ${id}`);
      if (!c) return { title: "Contact", body: `<p class="empty">This contact is gone</p>` };
      const lines = [["Phone", c.number], ["Email", c.email]].filter(([, value]) => value).map(([sub, title]) => item({ title, sub }));
      return {
        title: "", actions: [{ label: "Edit", icon: "pen", tap: "edit", arg: id }, { label: "Delete", icon: "bin", tap: "drop", arg: id }],
        body: `<div class="big">${face(c.name)}<h2>${esc(c.name)}</h2></div>${list(lines)}`,
      };
    },
    async edit({ id }) {
      const [c] = id ? await rows("contacts", `_id = ${id}`) : [{}];
      const { name, number, email } = c ?? {};
      const fields = field({ name: "name", label: "Name", value: name }) + field({ name: "number", label: "Phone", value: number, kind: "tel" })
        + field({ name: "email", label: "Email", value: email, kind: "email" });
      return { title: id ? "Edit contact" : "New contact", body: fields + button("Save", "save", id) };
    },
  },
  taps: {
    add: () => go("edit", {}),
    view: (id) => go("view", { id }),
    edit: (id) => go("edit", { id }),
    drop: (id) => confirmed("Delete this contact?", "Delete", "dropped", id),
    async dropped(id) { await remove("contacts", `_id = ${id}`); leave(); },
    async save(id, { draft }) {
      const values = Object.fromEntries(Object.entries(draft).map(([key, value]) => [key, value.trim()]));
      if (id ? values.name === "" : !values.name) return;
      if (id && Object.keys(values).length) await update("contacts", values, `_id = ${id}`);
      if (!id) await insert("contacts", values);
      leave();
    },
  },
});
