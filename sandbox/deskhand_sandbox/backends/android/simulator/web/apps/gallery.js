"use strict";
// the pictures are drawn: hills, a sun or moon, from the number of the scene
const scene = (n) => {
  const h = (n * 67) % 360, night = n % 3 === 0;
  return `<svg viewBox="0 0 100 100" preserveAspectRatio="xMidYMid slice"><rect width="100" height="100" fill="hsl(${h} ${night ? 40 : 70}% ${night ? 22 : 78}%)"/>
  <circle cx="${20 + (n * 29) % 60}" cy="${18 + (n * 13) % 22}" r="${7 + n % 5}" fill="${night ? "#f4f1d6" : "#ffd66b"}"/>
  <path d="M0 ${62 + n % 9}Q25 ${38 + (n * 7) % 20} 50 60T100 58V100H0z" fill="hsl(${(h + 90) % 360} 35% ${night ? 28 : 48}%)"/>
  <path d="M0 ${78 + n % 5}Q30 ${60 + (n * 5) % 14} 60 76T100 74V100H0z" fill="hsl(${(h + 120) % 360} 38% ${night ? 20 : 36}%)"/></svg>`;
};
defineApp({
  package: "org.deskhand.gallery", label: "Gallery", color: "#b8456b", icon: "picture",
  screens: {
    async main(_, at) {
      const tab = at.args.tab ?? "All";
      const all = await rows("images");
      const names = ["All", "Favourites", ...new Set(all.map((i) => i.bucket_display_name))].slice(0, 4);
      const found = all.filter((i) => tab === "All" || (tab === "Favourites" ? i.is_favorite : i.bucket_display_name === tab));
      const tiles = found.map((i) => `<span class="tile" data-tap="view" data-arg="${i._id}" data-hold="star" aria-label="${esc(i._display_name)}">${scene(i.scene)}
        ${i.is_favorite ? `<span class="mark">${icon("star", 20)}</span>` : ""}</span>`);
      return { title: "Gallery", above: tabs(names, tab, "tab"), body: tiles.length ? `<div class="grid">${tiles.join("")}</div>` : `<p class="empty">No pictures</p>` };
    },
    async view({ id }) {
      const [i] = await rows("images", `_id = ${id}`);
      if (!i) return { title: "Picture", body: `<p class="empty">This picture is gone</p>` };
      return { title: i._display_name, actions: [{ label: i.is_favorite ? "Remove from favourites" : "Add to favourites", icon: "star", tap: "star", arg: id, on: i.is_favorite },
        { label: "Delete", icon: "bin", tap: "drop", arg: id }],
        body: `<div class="photo">${scene(i.scene)}</div>${list([item({ title: i.bucket_display_name, sub: "Album" }), item({ title: day(i.date_taken), sub: "Taken" })])}` };
    },
  },
  taps: {
    tab: (tab, at) => { at.args.tab = tab; at.scroll = 0; },
    view: (id) => go("view", { id }),
    async star(id) { await update("images", { is_favorite: (await rows("images", `_id = ${id}`))[0]?.is_favorite ? 0 : 1 }, `_id = ${id}`); },
    drop: (id) => confirmed("Delete this picture?", "Delete", "dropped", id),
    async dropped(id) { await remove("images", `_id = ${id}`); leave(); },
  },
});
