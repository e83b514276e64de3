"use strict";
// The screen as uiautomator sees it: what shows, what it says, what can be done with it.

function tree() {
  const root = document.querySelector("#app .veil") ?? document.getElementById("app");
  const box = root.getBoundingClientRect();
  return { class: "android.widget.FrameLayout", bounds: bounds(box), children: inside(root, box) };
}
const bounds = (box) => [box.left, box.top, box.right, box.bottom].map(Math.round);
const cut = (a, b) => new DOMRect(Math.max(a.left, b.left), Math.max(a.top, b.top),
  Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
const ownText = (element) => [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join(" ").trim();

function inside(element, clip) {
  return [...element.children].flatMap((child) => nodes(child, clip));
}
function nodes(element, clip) {
  if (element instanceof SVGElement) return [];
  const shown = cut(element.getBoundingClientRect(), clip);
  if (shown.width < 1 || shown.height < 1) return [];
  const { tap, hold, field, slider, check, arg } = element.dataset;
  const scrolls = element.classList.contains("scroll");
  const children = inside(element, scrolls ? shown : clip);
  const text = field ? element.value : ownText(element);
  const label = element.getAttribute("aria-label") ?? "";
  if (!tap && !hold && !field && !slider && !scrolls && !text) return children;
  const kind = field ? "EditText" : slider ? "SeekBar" : scrolls ? "ScrollView" : check !== undefined ? "Switch"
    : !tap ? "TextView" : text ? "Button" : label ? "ImageButton" : "LinearLayout";
  return [{
    class: `android.widget.${kind}`, text, description: label === text ? "" : label, id: field ?? slider ?? tap?.replace("@", "") ?? "",
    clickable: Boolean(tap || field), long: Boolean(hold), checkable: check !== undefined, checked: check === "1",
    scrollable: scrolls && element.scrollHeight > element.clientHeight, focusable: Boolean(field), focused: Boolean(field) && ui.focus === field,
    selected: element.classList.contains("on"), bounds: bounds(shown), children,
  }];
}
