// Small images that all lie in one picture.
import { h } from "../dom.js";

/** Return a function that makes the element of image `i` of a sprite, `side` pixels wide. */
export function thumbs(sprite) {
  return (i, side, label) => {
    const rows = Math.ceil(sprite.count / sprite.columns);
    return h("span", {
      class: "thumb", role: "img", "aria-label": label,
      vars: {
        "--side": `${side}px`,
        "background-image": `url(${sprite.data})`,
        "background-size": `${sprite.columns * side}px ${rows * side}px`,
        "background-position": `-${(i % sprite.columns) * side}px -${Math.floor(i / sprite.columns) * side}px`,
      },
    });
  };
}
