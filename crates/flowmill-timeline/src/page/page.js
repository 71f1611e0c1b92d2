// The timeline: lanes of events on a canvas. Times are nanoseconds since the start of the step. Text comes into the page as text only.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const { events: columns, strings, devices } = data;
const count = columns.start.length;
const $ = (id) => document.getElementById(id);
const canvas = $("view"), panel = $("panel"), tip = $("tip"), context = canvas.getContext("2d");
const ROW = 18, HEAD = 22, AXIS = 24, COUNTER = 40, LABELS = 150, GAP = 6;
const name = (i) => strings[columns.name[i]], op = (i) => strings[columns.op[i]] || "unknown";
const end = (i) => columns.start[i] + columns.duration[i];

// Consumers of each event, from its producers.
const consumers = Array.from({ length: count }, () => []);
for (let i = 0; i < count; i++) for (const producer of producersOf(i)) consumers[producer].push(i);
function producersOf(i) {
  return columns.producer.slice(columns.first_producer[i], columns.first_producer[i + 1]);
}
const isCritical = new Uint8Array(count);
for (const i of data.critical.events) isCritical[i] = 1;

// Rows from top to bottom. A row of events holds those of one lane and depth in the order of time: they do not overlap.
const rows = [], rowOf = new Int32Array(count);
function layOut() {
  let y = AXIS;
  const add = (row, height) => { rows.push({ ...row, y, height }); y += height; };
  add({ kind: "events", label: "critical path", events: data.critical.events, copy: true }, ROW);
  const byLane = new Map();
  for (let i = 0; i < count; i++) {
    const key = columns.device[i] + ":" + columns.lane[i];
    if (!byLane.has(key)) byLane.set(key, []);
    const depths = byLane.get(key), depth = columns.depth[i];
    while (depths.length <= depth) depths.push([]);
    depths[depth].push(i);
  }
  devices.forEach((device, d) => {
    y += GAP;
    add({ kind: "head", label: device.name }, HEAD);
    device.lanes.forEach((lane, l) => {
      (byLane.get(d + ":" + l) || []).forEach((list, depth) => {
        list.sort((a, b) => columns.start[a] - columns.start[b] || a - b);
        for (const i of list) rowOf[i] = rows.length;
        add({ kind: "events", label: depth ? "" : lane, events: list }, ROW);
      });
    });
    for (const memory of data.memory.filter((m) => m.device === d)) {
      const most = memory.bytes.reduce((a, b) => Math.max(a, b), 1);
      add({ kind: "counter", label: memory.name, memory, most }, COUNTER);
    }
  });
  return y;
}
const contentHeight = layOut();

// The part of the step that is shown, and what is selected.
const whole = Math.max(data.duration, 1);
// The shortest part: 20 ns, or what floats resolve. Ticks of less than their precision would never reach the end of the axis.
const shortest = Math.max(20, whole * 1e-12);
let from = 0, span = whole * 1.02, top = 0, selected = -1, matches = null, matchList = [], matchAt = -1, width = 0, height = 0, frame = 0;

const format = (nanos) => nanos < 1e3 ? `${nanos} ns` : nanos < 1e6 ? `${+(nanos / 1e3).toPrecision(4)} µs` : nanos < 1e9 ? `${+(nanos / 1e6).toPrecision(4)} ms` : `${+(nanos / 1e9).toPrecision(4)} s`;
const formatBytes = (n) => n < 1024 ? `${n} B` : n < 1048576 ? `${+(n / 1024).toPrecision(3)} KiB` : n < 1073741824 ? `${+(n / 1048576).toPrecision(3)} MiB` : `${+(n / 1073741824).toPrecision(3)} GiB`;
const x = (time) => LABELS + (time - from) / span * (width - LABELS);
const timeAt = (px) => from + (px - LABELS) / (width - LABELS) * span;

// The ops that take longest have hues far apart; others have the hue of their name.
const ranks = new Map(data.by_op.rows.map((share, rank) => [share.name, rank]));
const colours = new Map();
function colour(i) {
  const key = columns.op[i];
  if (!colours.has(key)) {
    let hash = 2166136261;
    for (const c of op(i)) hash = Math.imul(hash ^ c.codePointAt(0), 16777619);
    const hue = ranks.has(op(i)) ? (200 + ranks.get(op(i)) * 137.5) % 360 : (hash >>> 0) % 360;
    colours.set(key, `hsl(${hue} 50% ${dark ? 42 : 74}%)`);
  }
  return colours.get(key);
}
const scheme = matchMedia("(prefers-color-scheme: dark)");
let dark, paint;
function readTheme() {
  dark = scheme.matches;
  const style = getComputedStyle(document.documentElement);
  paint = Object.fromEntries(["page", "text", "faint", "line", "lane", "accent", "select"].map((n) => [n, style.getPropertyValue("--" + n).trim()]));
  colours.clear();
}

// The first event of a row that ends after `time`.
function firstAfter(list, time) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end(list[middle]) <= time) low = middle + 1; else high = middle;
  }
  return low;
}

function draw() {
  frame = 0;
  const scale = devicePixelRatio || 1;
  width = canvas.clientWidth; height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = paint.page;
  context.fillRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const row of rows) {
    const y = row.y - top;
    if (y + row.height < AXIS || y > height) continue;
    if (row.kind === "events") drawEvents(row, y);
    if (row.kind === "counter") drawCounter(row, y);
    drawLabel(row, y);
  }
  if (selected >= 0 && $("arrows").checked) drawArrows();
  drawAxis();
}
const redraw = () => { frame = frame || requestAnimationFrame(draw); };

function drawLabel(row, y) {
  context.fillStyle = row.kind === "head" ? paint.text : paint.faint;
  context.font = row.kind === "head" ? "bold 12px system-ui, sans-serif" : "11px system-ui, sans-serif";
  context.fillText(row.label, 8, y + row.height / 2, row.kind === "head" ? width : LABELS - 16);
}

// Events that are narrower than a pixel are drawn once per pixel: the time of a picture depends on its width, not on the number of events.
function drawEvents(row, y) {
  const list = row.events, only = $("critical").checked && !row.copy;
  context.fillStyle = paint.lane;
  context.fillRect(LABELS, y + 1, width - LABELS, ROW - 2);
  for (let at = firstAfter(list, from); at < list.length;) {
    const i = list[at], left = Math.max(x(columns.start[i]), LABELS), right = Math.min(x(end(i)), width);
    if (left > width) break;
    const wide = Math.max(right - left, 1);
    const faded = (matches && !matches[i]) || (only && !isCritical[i]);
    context.globalAlpha = faded ? 0.18 : 1;
    context.fillStyle = colour(i);
    context.fillRect(left, y + 1, wide > 3 ? wide - 0.5 : wide, ROW - 2);
    if (isCritical[i] && !row.copy) {
      context.fillStyle = paint.accent;
      context.fillRect(left, y + ROW - 3, wide, 2);
    }
    if (i === selected) {
      context.strokeStyle = paint.select;
      context.lineWidth = 2;
      context.strokeRect(left, y + 1, wide, ROW - 2);
    }
    if (wide > 34) drawName(i, left, wide, y);
    context.globalAlpha = 1;
    at = wide > 1 ? at + 1 : Math.max(at + 1, firstAfter(list, timeAt(left + 1)));
  }
}
function drawName(i, left, wide, y) {
  const letters = Math.floor((wide - 6) / 6), text = name(i);
  const last = text.length > letters ? text.slice(text.lastIndexOf("/") + 1) : text;
  context.fillStyle = dark ? "#fff" : "#111";
  context.font = "11px system-ui, sans-serif";
  context.fillText(last.length > letters ? last.slice(0, Math.max(letters - 1, 1)) + "…" : last, left + 3, y + ROW / 2);
}
function drawCounter(row, y) {
  const { time, bytes } = row.memory;
  context.fillStyle = paint.lane;
  context.fillRect(LABELS, y + 2, width - LABELS, COUNTER - 4);
  context.fillStyle = paint.select;
  context.globalAlpha = 0.45;
  const base = y + COUNTER - 2, tall = COUNTER - 6;
  for (let i = 0, pixel = -1, most = 0; i < time.length; i++) {
    const left = Math.max(x(time[i]), LABELS), right = i + 1 < time.length ? x(time[i + 1]) : left;
    if (right < LABELS) continue;
    if (left > width) break;
    // Within a pixel, the largest value counts.
    most = Math.floor(left) === pixel ? Math.max(most, bytes[i]) : bytes[i];
    pixel = Math.floor(left);
    const h = most / row.most * tall;
    context.fillRect(pixel, base - h, Math.max(right - pixel, 1), h);
  }
  context.globalAlpha = 1;
  context.fillStyle = paint.faint;
  context.fillText(formatBytes(row.most), LABELS + 4, y + 9);
}
function drawAxis() {
  if (width <= LABELS) return;
  context.fillStyle = paint.page;
  context.fillRect(0, 0, width, AXIS);
  context.font = "11px system-ui, sans-serif";
  const unit = 10 ** Math.floor(Math.log10(Math.max(span / (width / 110), 1e-3)));
  const tick = [1, 2, 5, 10].map((f) => f * unit).find((t) => t * (width - LABELS) / span >= 90) || unit * 10;
  for (let t = Math.ceil(Math.max(from, 0) / tick) * tick; x(t) < width; t += tick) {
    context.fillStyle = paint.line;
    context.fillRect(x(t), AXIS - 5, 1, height);
    context.fillStyle = paint.faint;
    context.fillText(format(Math.round(t)), x(t) + 3, AXIS / 2);
  }
}
function drawArrows() {
  const middle = (i) => rows[rowOf[i]].y - top + ROW / 2;
  const arrow = (a, b) => {
    const [x0, y0, x1, y1] = [x(end(a)), middle(a), x(Math.max(columns.start[b], columns.sender[b] === a ? end(b) : 0)), middle(b)];
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + 30, y0, x1 - 30, y1, x1, y1);
    context.stroke();
    context.fillRect(x1 - 2, y1 - 2, 4, 4);
  };
  context.save();
  context.beginPath();
  context.rect(LABELS, AXIS, width - LABELS, height);
  context.clip();
  context.strokeStyle = context.fillStyle = paint.select;
  context.lineWidth = 1.2;
  producersOf(selected).forEach((p) => arrow(p, selected));
  consumers[selected].slice(0, 200).forEach((c) => arrow(selected, c));
  context.restore();
}

function clampView() {
  span = Math.min(Math.max(span, shortest), whole * 1.5);
  from = Math.min(Math.max(from, -0.2 * span), whole - 0.5 * span > 0 ? whole - 0.5 * span : 0);
  top = Math.min(Math.max(top, 0), Math.max(contentHeight - height + 20, 0));
  redraw();
}
function zoom(factor, at) {
  const time = timeAt(at);
  const next = Math.min(Math.max(span * factor, shortest), whole * 1.5);
  from = time - (time - from) * next / span;
  span = next;
  clampView();
}
const fit = () => { from = 0; span = whole * 1.02; top = 0; clampView(); };

function eventAt(px, py) {
  if (px < LABELS || py < AXIS) return -1;
  const row = rows.find((r) => r.kind === "events" && py + top >= r.y && py + top < r.y + r.height);
  if (!row) return -1;
  const at = firstAfter(row.events, timeAt(px - 1)), i = row.events[at];
  return i !== undefined && x(columns.start[i]) <= px + 1 ? i : -1;
}
