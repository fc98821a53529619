// Elements without markup: text is always text, so a hostile name can do nothing.

/** Make an element: h("button", {class: "main", onclick: f, "aria-label": "x"}, child, ...). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (name in PROPERTIES) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const PROPERTIES = { value: 1, checked: 1, disabled: 1, hidden: 1 };

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Return the element with this id. */
export const byId = (id) => document.getElementById(id);

/** Return a colour of the theme, for canvases. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Paper is white: theme.css has no dark colours while the page is printed.
addEventListener("beforeprint", () => { document.documentElement.dataset.paper = ""; });
addEventListener("afterprint", () => { delete document.documentElement.dataset.paper; });

/** Call `action` when the theme changes from light to dark or back, also for paper; return a function that ends it. */
export function onTheme(action) {
  const sources = [[matchMedia("(prefers-color-scheme: dark)"), "change"], [globalThis, "beforeprint"], [globalThis, "afterprint"]];
  for (const [source, event] of sources) source.addEventListener(event, action);
  return () => { for (const [source, event] of sources) source.removeEventListener(event, action); };
}

// Told apart by people with any colour vision as far as eight can be; grey is for the unnamed.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#a8478b", "#8a6d00", "#3f8fc7", "#6b4fbb", "#b5485d", "#4d7c0f", "#0e7490", "#9a3412", "#be123c"];
const DARK = ["#56b4e9", "#ff9d4d", "#3ddc97", "#e58fc7", "#f0e442", "#9ec9ff", "#b8a1ff", "#ff8fa3", "#a3e635", "#67e8f9", "#fdba74", "#fb7185"];

const order = new Map();

/** Return the colour of a name; it is the same on all screens. */
export function nameColour(name) {
  if (!name || name === "unknown") return colour("--muted");
  if (!order.has(name)) order.set(name, order.size);
  return paletteColour(order.get(name));
}

/** Return colour number `at` of the palette, in the current theme. */
export function paletteColour(at) {
  const dark = !("paper" in document.documentElement.dataset) && matchMedia("(prefers-color-scheme: dark)").matches;
  return (dark ? DARK : LIGHT)[at] ?? `hsl(${Math.round((at * 137.5) % 360)} 55% ${dark ? 70 : 38}%)`;
}
