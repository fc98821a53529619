// Everything that the page does goes through here: HTTP as /openapi.json describes it.

/** An answer that is not a success; the message is for the person. */
export class ApiError extends Error {
  constructor(message, status) { super(message); this.status = status; }
}

/** Ask the server; `body` is a Blob (an image) or an object (sent as JSON). */
export async function ask(method, path, body) {
  const options = { method, headers: { accept: "application/json" }, credentials: "same-origin" };
  if (body instanceof Blob) {
    options.body = body;
    options.headers["content-type"] = body.type || "application/octet-stream";
  } else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new ApiError("The learner does not answer. Is scale watch still running?", 0);
  }
  if (answer.status === 401) location.assign("/login");
  const data = await answer.json().catch(() => null);
  if (!answer.ok) throw new ApiError(reason(data) ?? `The server said ${answer.status}.`, answer.status);
  return data;
}

function reason(data) {
  if (typeof data?.detail === "string") return data.detail;
  return Array.isArray(data?.detail) ? data.detail.map((one) => one.msg).join("; ") : null;
}

/** Ask with query parameters; those that are undefined are left out. */
export function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given).toString();
  return ask("GET", text ? `${path}?${text}` : path);
}

export const thumbnail = (id) => `/images/${id}/thumbnail`;
export const picture = (id) => `/images/${id}/picture`;

/** Listen to the server; calls `onstatus(status)`, `onchange(versions)` and `onlink("live" | "lost")`. */
export function listen({ onstatus, onchange, onlink }) {
  const source = new EventSource("/updates");
  source.addEventListener("open", () => onlink("live"));
  source.addEventListener("error", () => onlink("lost")); // it connects again by itself
  source.addEventListener("status", (event) => onstatus(JSON.parse(event.data)));
  source.addEventListener("changed", (event) => onchange(JSON.parse(event.data)));
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}
