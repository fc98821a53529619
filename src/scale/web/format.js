// Numbers, sizes and times as people write them.

/** Return a number with a sensible number of digits. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString();
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString();
  return Number(value.toPrecision(digits)).toLocaleString(undefined, { maximumSignificantDigits: digits });
}

/** Return a number with fixed decimals, rounded as the tables that Python writes: a tie goes to the even digit. */
export function fixed(value, digits = 1) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value < 0) return `-${fixed(-value, digits)}`;
  const scaled = value * 10 ** digits, down = Math.floor(scaled);
  const tie = scaled - down === 0.5 && Number.isInteger(value * 2 ** (digits + 1));
  return (tie && down % 2 === 0 ? down / 10 ** digits : value).toFixed(digits);
}

/** Return a share of one as a percentage. */
export const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`);

/** Return a size in bytes. */
export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Return a length of time; `exact` keeps the seconds of minutes. */
export function duration(seconds, exact = false) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${exact && whole % 60 ? ` ${whole % 60} s` : ""}`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} days`;
}

/** Return the time of day of a moment in unix seconds; with the day unless it is today. */
export function moment(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const date = new Date(seconds * 1000);
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  if (date.toDateString() === new Date().toDateString()) return time;
  return `${date.toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" })}, ${time}`;
}

/** Return how long ago a moment was. */
export function ago(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const passed = Date.now() / 1000 - seconds;
  return passed < 2 ? "just now" : passed < 0 ? moment(seconds) : `${duration(passed)} ago`;
}

/** Return "1 image", "2 images". */
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
