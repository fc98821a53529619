// Small images that all lie in one picture.
import { h } from "../dom.js";

const sheets = new Map();

/** Return a function that makes the element of image `i` of a sprite, `side` pixels wide. */
export function thumbs(sprite) {
  const sheet = sheetOf(sprite), rows = Math.ceil(sprite.count / sprite.columns);
  return (i, side, label) => h("span", {
    class: `thumb ${sheet}`, role: "img", "aria-label": label, title: label || null,
    vars: {
      "--side": `${side}px`,
      "background-size": `${sprite.columns * side}px ${rows * side}px`,
      "background-position": `-${(i % sprite.columns) * side}px -${Math.floor(i / sprite.columns) * side}px`,
    },
  });
}

/** Return the class of a sprite; the picture is in the page once, not in every element. */
function sheetOf(sprite) {
  if (!sheets.has(sprite)) {
    sheets.set(sprite, `sheet-${sheets.size}`);
    document.head.append(h("style", {}, `.${sheets.get(sprite)} { background-image: url("${sprite.data}"); }`));
  }
  return sheets.get(sprite);
}
