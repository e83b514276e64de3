"use strict";
const SIZES = [["Small", "0.85"], ["Default", "1.0"], ["Large", "1.15"]];
defineApp({
  package: "org.deskhand.settings", label: "Settings", color: "#59616f", icon: "gear",
  screens: {
    async main() {
      const line = (title, sub, arg) => item({ title, sub, tap: "go", arg });
      return { title: "Settings", body: list([
        line("Network", "Wi-Fi, Bluetooth, airplane mode", "network"), line("Display", "Brightness, dark theme, font size", "display"),
        line("Sound", "Volume", "sound"), line("About phone", setting("global", "device_name"), "about")]) };
    },
    async network() {
      const line = (title, name) => toggle({ title, tap: "turn", arg: `global/${name}`, on: setting("global", name) === "1" });
      return { title: "Network", body: list([line("Wi-Fi", "wifi_on"), line("Bluetooth", "bluetooth_on"), line("Airplane mode", "airplane_mode_on")]) };
    },
    async display() {
      const sizes = SIZES.map(([title, value]) => item({ title, tap: "size", arg: value, check: setting("system", "font_scale") === value ? 1 : 0,
        trail: setting("system", "font_scale") === value ? icon("check", 20) : "" }));
      return { title: "Display", body: list([slider({ label: "Brightness", name: "brightness", value: Number(setting("system", "screen_brightness")), most: 255 })])
        + list([toggle({ title: "Dark theme", tap: "dark", on: setting("secure", "ui_night_mode") === "2" })]) + `<p class="head">Font size</p>` + list(sizes) };
    },
    async sound() {
      return { title: "Sound", body: list([slider({ label: "Media volume", name: "volume", value: Number(setting("system", "volume_music")), most: 15 })]) };
    },
    async about() {
      return { title: "About phone", body: list([item({ title: "Device name", sub: setting("global", "device_name") }), item({ title: "Model", sub: "Deskhand Simulator" })])
        + field({ name: "name", label: "New device name", enter: "rename" }) + button("Rename", "rename") };
    },
  },
  taps: {
    go: (screen) => go(screen),
    turn: (arg) => { const [space, name] = arg.split("/"); return setSetting(space, name, setting(space, name) === "1" ? 0 : 1); },
    dark: () => setSetting("secure", "ui_night_mode", setting("secure", "ui_night_mode") === "2" ? 1 : 2),
    size: (value) => setSetting("system", "font_scale", value),
    async rename(_, at) {
      if (!at.draft.name?.trim()) return;
      await setSetting("global", "device_name", at.draft.name.trim());
      at.draft = {}; blur();
    },
  },
  slides: {
    brightness: (value) => setSetting("system", "screen_brightness", Math.max(1, value)),
    volume: (value) => setSetting("system", "volume_music", value),
  },
});
