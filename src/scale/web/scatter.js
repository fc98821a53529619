// A map of points on a canvas: zoom, pan, hover, and a lasso that selects.
import { colour, h, onTheme } from "./dom.js";

const NEAR = 14; // pixels between pointer and point
const STEP = 60; // pixels that an arrow key moves the map

/**
 * Draw points [{id, x, y, colour}].
 * `onhover(point | null, left, top)`, `onopen(point)`, `onselect(points)` tell what the person does.
 * Without `onselect` there is no lasso, and the wheel zooms with Ctrl only, so that a page with several maps scrolls.
 * Returns {element, update(points), mark(ids), show(id | null), reset(), close()}.
 */
export function scatter({ label, points, onhover, onopen, onselect }) {
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": label });
  const element = h("div", { class: "scatter" }, canvas);
  const state = { points, marked: new Set(), zoom: 1, left: 0, top: 0, lasso: null, at: null, near: null };
  let waiting = false;

  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(canvas, state); });
  };
  const point = (near) => {
    if (near === state.near) return;
    state.near = near;
    onhover?.(near, near ? place(canvas, state, near)[0] : 0, near ? place(canvas, state, near)[1] : 0);
    redraw();
  };
  const zoom = (factor, x, y) => {
    const next = Math.min(Math.max(state.zoom * factor, 1), 60);
    state.left = x - ((x - state.left) * next) / state.zoom;
    state.top = y - ((y - state.top) * next) / state.zoom;
    state.zoom = next;
    keepInside(canvas, state);
    redraw();
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const at = where(canvas, event);
    state.at = { from: at, last: at, moved: false };
    state.lasso = !onselect ? null : event.shiftKey || event.pointerType === "touch" || state.zoom === 1 ? [at] : null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = where(canvas, event);
    if (!state.at) return point(nearest(canvas, state, at));
    const moved = Math.hypot(at[0] - state.at.from[0], at[1] - state.at.from[1]) > 5;
    state.at.moved ||= moved;
    if (state.lasso) state.lasso.push(at);
    else {
      state.left += at[0] - state.at.last[0];
      state.top += at[1] - state.at.last[1];
      keepInside(canvas, state);
    }
    state.at.last = at;
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const at = where(canvas, event);
    if (state.at && !state.at.moved) {
      const near = nearest(canvas, state, at);
      point(near);
      if (near) onopen?.(near);
    } else if (state.lasso && state.lasso.length > 3) {
      onselect?.(state.points.filter((one) => inside(place(canvas, state, one), state.lasso)));
    }
    state.at = state.lasso = null;
    redraw();
  });
  canvas.addEventListener("pointercancel", () => { state.at = state.lasso = null; redraw(); });
  canvas.addEventListener("pointerleave", () => { if (!state.at) point(null); });
  canvas.addEventListener("wheel", (event) => {
    if (!onselect && !event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...where(canvas, event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const middle = [canvas.clientWidth / 2, canvas.clientHeight / 2];
    const move = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] }[event.key];
    if (event.key === "+" || event.key === "=") zoom(1.4, ...middle);
    else if (event.key === "-") zoom(1 / 1.4, ...middle);
    else if (event.key === "0") reset();
    else if (event.key === "Enter" && state.near) onopen?.(state.near);
    else if (move) { state.left += move[0]; state.top += move[1]; keepInside(canvas, state); }
    else return;
    event.preventDefault();
    if (move || event.key !== "Enter") point(nearest(canvas, state, middle, Infinity));
    redraw();
  });
  const reset = () => { Object.assign(state, { zoom: 1, left: 0, top: 0 }); redraw(); };
  const watcher = new ResizeObserver(() => { keepInside(canvas, state); redraw(); });
  watcher.observe(canvas);
  const end = onTheme(() => draw(canvas, state));
  return {
    element,
    show(id) { state.near = state.points.find((one) => one.id === id) ?? null; redraw(); },
    update(newPoints) { state.points = newPoints; state.near = null; redraw(); },
    mark(ids) { state.marked = new Set(ids); redraw(); },
    zoom: (factor) => zoom(factor, canvas.clientWidth / 2, canvas.clientHeight / 2),
    reset,
    close() { watcher.disconnect(); end(); },
  };
}

/** Return where a point with x and y in 0..1 is on the canvas. */
function place(canvas, state, point) {
  const width = canvas.clientWidth, height = canvas.clientHeight, edge = 18;
  return [
    state.left + state.zoom * (edge + point.x * (width - 2 * edge)),
    state.top + state.zoom * (edge + (1 - point.y) * (height - 2 * edge)),
  ];
}

function keepInside(canvas, state) {
  state.left = Math.min(0, Math.max(state.left, canvas.clientWidth * (1 - state.zoom)));
  state.top = Math.min(0, Math.max(state.top, canvas.clientHeight * (1 - state.zoom)));
}

function nearest(canvas, state, [x, y], limit = NEAR) {
  let best = null, least = limit;
  for (const point of state.points) {
    const [left, top] = place(canvas, state, point);
    const distance = Math.hypot(left - x, top - y);
    if (distance < least) { least = distance; best = point; }
  }
  return best;
}

function inside([x, y], polygon) {
  let within = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [ax, ay] = polygon[i], [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}

function where(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function draw(canvas, state) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = colour("--ground");
  pen.fillRect(0, 0, width, height);
  const radius = state.points.length > 3000 ? 2.5 : width < 400 ? 3 : 4;
  pen.globalAlpha = state.points.length > 3000 ? 0.6 : 0.85;
  for (const point of state.points) dot(pen, place(canvas, state, point), radius, point.colour);
  pen.globalAlpha = 1;
  pen.lineWidth = 2;
  pen.strokeStyle = colour("--text");
  for (const point of state.points) if (state.marked.has(point.id)) ring(pen, place(canvas, state, point), radius + 2);
  if (state.near) ring(pen, place(canvas, state, state.near), radius + 4);
  if (state.lasso && state.lasso.length > 1) {
    pen.beginPath();
    state.lasso.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.fillStyle = `${colour("--accent")}22`;
    pen.strokeStyle = colour("--accent");
    pen.fill();
    pen.stroke();
  }
}

function dot(pen, [x, y], radius, fillStyle) {
  pen.beginPath();
  pen.fillStyle = fillStyle;
  pen.arc(x, y, radius, 0, 7);
  pen.fill();
}

function ring(pen, [x, y], radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.stroke();
}
