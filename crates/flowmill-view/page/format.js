/** Numbers and names as text. */

/** Returns a count with separators. */
export function count(n) {
  return Math.round(n).toLocaleString('en-US');
}

function inUnits(n, step, units) {
  let i = 0;
  while (n >= step && i + 1 < units.length) {
    n /= step;
    i += 1;
  }
  const digits = i === 0 || n >= 100 ? 0 : n >= 10 ? 1 : 2;
  return `${n.toFixed(digits)} ${units[i]}`;
}

/** Returns a time, given in nanoseconds. */
export function timeText(nanoseconds) {
  return inUnits(nanoseconds, 1000, ['ns', 'µs', 'ms', 's']);
}

/** Returns a number of bytes. */
export function bytesText(n) {
  return inUnits(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
}

/** Returns a number of arithmetic operations. */
export function operationsText(n) {
  if (n === 1) return '1 operation';
  return inUnits(n, 1000, ['operations', 'thousand operations', 'million operations', 'billion operations', 'trillion operations']);
}

/** Returns "1 node" or "2 nodes". */
export function plural(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
}

/** Returns the element with this id. */
export const byId = (id) => document.getElementById(id);

/** Makes an element with text, never with markup. */
export function element(tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}
