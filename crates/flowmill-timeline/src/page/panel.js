// The panel, search, and what the mouse and the keyboard do.
function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return Object.assign(made, attributes);
}
function facts(pairs) {
  const list = element("dl");
  for (const [term, value] of pairs) if (value !== "" && value !== undefined) list.append(element("dt", term), element("dd", value));
  return list;
}
function links(title, ids) {
  if (!ids.length) return [];
  const list = element("ul");
  for (const i of ids.slice(0, 30)) {
    const link = element("a", name(i), { tabIndex: 0 });
    link.onclick = () => select(i, true);
    link.onkeydown = (e) => { if (e.key === "Enter") select(i, true); };
    const item = element("li");
    item.append(link, ` ${op(i)}, ${format(columns.duration[i])}`);
    list.append(item);
  }
  if (ids.length > 30) list.append(element("li", `${ids.length - 30} more`));
  return [element("h2", title), list];
}
function table(title, shares) {
  const made = element("table"), head = element("tr");
  [["time", "number"], ["", "number"], ["calls", "number"], [title, ""]].forEach(([text, className]) => head.append(element("th", text, { className })));
  made.append(head);
  for (const share of shares.rows) {
    const row = element("tr");
    row.append(element("td", format(share.nanos), { className: "number" }), element("td", `${(100 * share.nanos / Math.max(shares.nanos, 1)).toFixed(1)} %`, { className: "number" }),
      element("td", share.calls, { className: "number" }));
    const link = element("a", share.name, { tabIndex: 0 });
    link.onclick = link.onkeydown = (e) => { if (e.type === "click" || e.key === "Enter") { $("search").value = share.name; search(); } };
    const cell = element("td");
    cell.append(link);
    row.append(cell);
    made.append(row);
  }
  return made;
}
function showStep() {
  const { running, waiting, events } = data.critical;
  panel.replaceChildren(element("h2", "Step"), facts([["time", format(data.duration)], ["events", count.toLocaleString("en")],
    ["critical path", events.length ? `${format(running)} in ${events.length} nodes, ${format(waiting)} waiting` : ""]]),
    element("h2", "Time by op"), table("op", data.by_op), element("h2", "Time by scope"), table("scope", data.by_scope),
    element("h2", "Keys"), facts([["w, s", "zoom"], ["a, d", "move"], ["← →", "previous, next event"], ["↑ ↓", "producer, consumer"], ["/", "search"], ["f", "zoom to the event"], ["0", "whole step"], ["Esc", "back to the step"]]));
}
function select(i, reveal) {
  selected = i;
  if (i < 0) { showStep(); return redraw(); }
  const s = (column) => columns[column][i] < 0 ? "" : strings[columns[column][i]];
  panel.replaceChildren(element("h2", name(i)), facts([["op", op(i)], ["device", devices[columns.device[i]].name], ["lane", devices[columns.device[i]].lanes[columns.lane[i]]],
    ["start", format(columns.start[i])], ["time", format(columns.duration[i])], ["waited", columns.wait[i] ? format(columns.wait[i]) : ""], ["iteration", s("iteration")],
    ["copy", s("copy")], ["outputs", s("outputs")], ["critical path", isCritical[i] ? "yes" : ""]]),
    ...links("Inputs from", producersOf(i)), ...links("Used by", consumers[i]));
  if (reveal) {
    const row = rows[rowOf[i]];
    if (row.y - top < AXIS || row.y + ROW - top > height) top = row.y - height / 2;
    if (columns.duration[i] > span || x(columns.start[i]) < LABELS || x(end(i)) > width) from = columns.start[i] + columns.duration[i] / 2 - span / 2;
    clampView();
  }
  redraw();
}
function search() {
  const text = $("search").value.trim().toLowerCase();
  matches = null; matchList = []; matchAt = -1;
  if (text) {
    const hit = strings.map((s) => s.toLowerCase().includes(text));
    matches = new Uint8Array(count);
    for (let i = 0; i < count; i++) if (hit[columns.name[i]] || hit[columns.op[i]]) { matches[i] = 1; matchList.push(i); }
    matchList.sort((a, b) => columns.start[a] - columns.start[b]);
  }
  $("found").textContent = text ? `${matchList.length} found` : "";
  redraw();
}
function nextMatch(step) {
  if (!matchList.length) return;
  matchAt = (matchAt + step + matchList.length) % matchList.length;
  select(matchList[matchAt], true);
  $("found").textContent = `${matchAt + 1} of ${matchList.length}`;
}
function neighbour(step) {
  if (selected < 0) return select(rows.find((r) => r.kind === "events" && !r.copy && r.events.length)?.events[0] ?? -1, true);
  const list = rows[rowOf[selected]].events, at = list.indexOf(selected) + step;
  if (list[at] !== undefined) select(list[at], true);
}
// Of several, the one that decided the time.
const last = (ids) => ids.reduce((a, b) => a < 0 || end(b) > end(a) ? b : a, -1);

canvas.addEventListener("wheel", (e) => {
  e.preventDefault();
  if (e.ctrlKey || e.metaKey) return zoom(Math.exp(e.deltaY * 0.003), e.offsetX);
  if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) from += (e.deltaX || e.deltaY) / width * span; else top += e.deltaY;
  clampView();
}, { passive: false });
let drag = null;
canvas.addEventListener("pointerdown", (e) => { drag = { x: e.offsetX, y: e.offsetY, from, top, moved: false }; canvas.setPointerCapture(e.pointerId); });
canvas.addEventListener("pointermove", (e) => {
  if (drag) {
    drag.moved ||= Math.hypot(e.offsetX - drag.x, e.offsetY - drag.y) > 3;
    if (drag.moved) { from = drag.from - (e.offsetX - drag.x) / (width - LABELS) * span; top = drag.top - (e.offsetY - drag.y); clampView(); }
    return;
  }
  const i = eventAt(e.offsetX, e.offsetY);
  tip.hidden = i < 0;
  if (i >= 0) {
    tip.textContent = `${name(i)} (${op(i)}) ${format(columns.duration[i])}`;
    tip.style.left = `${Math.min(e.clientX + 12, innerWidth - 320)}px`;
    tip.style.top = `${Math.min(e.clientY + 16, innerHeight - 50)}px`;
  }
});
canvas.addEventListener("pointerup", (e) => { if (drag && !drag.moved) select(eventAt(e.offsetX, e.offsetY), false); drag = null; });
canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
canvas.addEventListener("dblclick", (e) => zoom(0.4, e.offsetX));
const middle = () => (LABELS + width) / 2;
const keys = {
  w: () => zoom(0.6, middle()), s: () => zoom(1 / 0.6, middle()), "+": () => zoom(0.6, middle()), "-": () => zoom(1 / 0.6, middle()),
  a: () => { from -= span * 0.15; clampView(); }, d: () => { from += span * 0.15; clampView(); }, 0: fit,
  f: () => { if (selected >= 0) { span = Math.max(columns.duration[selected] * 4, shortest); from = columns.start[selected] - span * 0.375; clampView(); } },
  ArrowLeft: () => neighbour(-1), ArrowRight: () => neighbour(1),
  ArrowUp: () => { if (selected >= 0) { const i = last(producersOf(selected)); if (i >= 0) select(i, true); } },
  ArrowDown: () => { if (selected >= 0) { const i = last(consumers[selected]); if (i >= 0) select(i, true); } },
  PageDown: () => { top += height / 2; clampView(); }, PageUp: () => { top -= height / 2; clampView(); },
  n: () => nextMatch(1), N: () => nextMatch(-1), Escape: () => { select(-1); },
};
canvas.addEventListener("keydown", (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); keys[e.key](); } });
document.addEventListener("keydown", (e) => { if (e.key === "/" && e.target !== $("search")) { e.preventDefault(); $("search").focus(); } });
$("search").addEventListener("input", search);
$("search").addEventListener("keydown", (e) => { if (e.key === "Enter") nextMatch(e.shiftKey ? -1 : 1); if (e.key === "Escape") { $("search").value = ""; search(); canvas.focus(); } });
$("critical").onchange = $("arrows").onchange = redraw;
$("in").onclick = () => zoom(0.6, middle());
$("out").onclick = () => zoom(1 / 0.6, middle());
$("fit").onclick = fit;
scheme.addEventListener("change", () => { readTheme(); redraw(); });
new ResizeObserver(redraw).observe(canvas);
document.querySelector("h1").textContent = document.title;
readTheme();
showStep();
draw();
