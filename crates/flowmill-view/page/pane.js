/** One graph on the screen: its canvas, camera, selection and marks. */
import { Colours } from './colours.js';
import { Graph } from './data.js';
import { Painter } from './draw.js';
import { Filter } from './filter.js';
import { HEADER, layoutOf } from './geometry.js';
import { Tree } from './tree.js';
import { element } from './format.js';

const MIN_ZOOM = 0.002;
const MAX_ZOOM = 4;
const EASE_MILLISECONDS = 180;
/** Space around a scope that is fitted into the window, in pixels. */
const MARGIN = 24;
/** The zoom at which names can be read. */
const READABLE_ZOOM = 0.6;
/** Exact edges of a node are drawn up to this number. */
const MAX_LINKS = 2000;
/** Graphs up to this size load what exact edges need when the first node is selected. */
const MAX_EAGER_INDEX = 300000;

export class Pane extends EventTarget {
  constructor(parent, name) {
    super();
    this.element = element('section', 'pane');
    this.element.setAttribute('aria-label', name);
    this.canvas = element('canvas');
    this.canvas.setAttribute('aria-hidden', 'true');
    this.tree = new Tree(this);
    this.element.append(this.tree.element, this.canvas);
    parent.append(this.element);
    this.painter = new Painter(this.canvas);
    Object.assign(this, { graph: null, theme: null, colours: null, camera: { x: 0, y: 0, k: 1 }, selection: null, marks: new Map(), links: null, filter: new Filter() });
    this.isDirty = false;
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  /** Shows another graph, with all scopes closed. */
  async show(number, summary) {
    this.graph = await Graph.load(number, summary);
    Object.assign(this, { selection: null, marks: new Map(), links: null });
    this.filter.setGraph(this.graph);
    this.element.setAttribute('aria-label', summary.name);
    // A graph that consists of one scope shows its content.
    if (this.graph.root.numChildren === 1 && this.graph.root.isScope(0)) await this.graph.open(this.graph.root, 0);
    this.tree.rebuild();
    this.fit(false);
  }

  /** Colours the graph by a property. Equal colours are equal values in all the graphs of `summaries`. */
  setColours(mode, theme, summaries) {
    this.theme = theme;
    this.colours = new Colours(mode, this.graph.summary, theme, summaries);
    this.redraw();
  }

  redraw() {
    if (this.isDirty || !this.colours) return;
    this.isDirty = true;
    requestAnimationFrame(() => {
      this.isDirty = false;
      const start = performance.now();
      const numDrawn = this.painter.paint(this);
      this.lastFrame = { numDrawn, milliseconds: performance.now() - start };
      this.dispatchEvent(new Event('drawn'));
    });
  }

  // ---- Places

  /** The upper left corner of a scope's content. */
  origin(scope) {
    let [x, y] = [0, 0];
    for (let one = scope; one.parent; one = one.parent) {
      const layout = layoutOf(one.parent);
      x += layout.x[one.place];
      y += layout.y[one.place];
    }
    return { x, y };
  }

  /** The rectangle of a child. */
  rectangle({ scope, place }) {
    const { x, y } = this.origin(scope);
    const layout = layoutOf(scope);
    const box = layout.box(scope, place);
    return { x: x + box.x, y: y + box.y, w: box.w, h: box.h };
  }

  /** Returns the child at a point of the window, and whether the point is where a click opens or closes. */
  hit(px, py) {
    const { x, y, k } = this.camera;
    return this.hitScope(this.graph.root, (px - x) / k, (py - y) / k);
  }

  hitScope(scope, x, y) {
    const layout = layoutOf(scope);
    const contains = (place) => layout.isPlaced[place] && x >= layout.x[place] && x <= layout.x[place] + layout.w[place] && y >= layout.y[place] && y <= layout.y[place] + layout.h[place];
    const row = layout.rows.find(({ top, bottom }) => y >= top && y <= bottom);
    const attached = scope.data.attached.find(([place, owner]) => !scope.open.has(owner) && contains(place));
    const place = attached?.[0] ?? row?.items.find(contains) ?? scope.data.hubs.find(contains);
    if (place === undefined) return null;
    const opened = scope.open.get(place);
    if (opened) {
      const inner = this.hitScope(opened, x - layout.x[place], y - layout.y[place]);
      return inner ?? { scope, place, toggles: y - layout.y[place] < HEADER };
    }
    return { scope, place, toggles: scope.isScope(place) && x > layout.x[place] + layout.w[place] - 28 };
  }

  // ---- Camera

  moveTo(camera, isEased = true) {
    const target = { ...camera, k: Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, camera.k)) };
    const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    const from = { ...this.camera };
    const start = performance.now();
    this.motion = target;
    const step = (now) => {
      if (this.motion !== target) return;
      const part = isEased && !isStill ? Math.min(1, Math.max(0, (now - start) / EASE_MILLISECONDS)) : 1;
      const eased = 1 - (1 - part) ** 3;
      for (const key of ['x', 'y', 'k']) this.camera[key] = from[key] + (target[key] - from[key]) * eased;
      if (part < 1) requestAnimationFrame(step);
      else {
        this.motion = null;
        this.dispatchEvent(new Event('moved'));
      }
      this.redraw();
    };
    step(isEased && !isStill ? start : start + EASE_MILLISECONDS);
  }

  zoomAt(px, py, factor, isEased = false) {
    const { x, y, k } = this.camera;
    const next = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, k * factor));
    this.moveTo({ x: px - ((px - x) * next) / k, y: py - ((py - y) * next) / k, k: next }, isEased);
  }

  zoomBy(factor) {
    this.zoomAt(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2, factor, true);
  }

  /** Moves the camera to a rectangle; zooms in to at most 1. */
  fitRectangle({ x, y, w, h }, isEased = true, most = 1) {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const k = Math.max(MIN_ZOOM, Math.min(most, (width - 2 * MARGIN) / w, (height - 2 * MARGIN) / h));
    this.moveTo({ k, x: width / 2 - (x + w / 2) * k, y: height / 2 - (y + h / 2) * k }, isEased);
  }

  fit(isEased = true) {
    const { width, height } = layoutOf(this.graph.root);
    this.fitRectangle({ x: 0, y: 0, w: width, h: height }, isEased, 1.2);
  }

  /** Moves a child into the window if it is outside or too small to be read. */
  bringIntoView(at) {
    const { x, y, w, h } = this.rectangle(at);
    const { camera, canvas } = this;
    const [left, top] = [x * camera.k + camera.x, y * camera.k + camera.y];
    const isInside = left >= 0 && top >= 0 && left + w * camera.k <= canvas.clientWidth && top + h * camera.k <= canvas.clientHeight;
    if (isInside && camera.k >= 0.5) return;
    const k = Math.max(0.7, Math.min(1, camera.k));
    if (w * k > canvas.clientWidth || h * k > canvas.clientHeight) this.fitRectangle({ x, y, w, h });
    else this.moveTo({ k, x: canvas.clientWidth / 2 - (x + w / 2) * k, y: canvas.clientHeight / 2 - (y + h / 2) * k });
  }

  // ---- Scopes

  async toggle(at) {
    if (!at || !at.scope.isScope(at.place)) return;
    if (at.scope.open.has(at.place)) this.close(at);
    else await this.open(at);
  }

  async open(at) {
    const before = this.rectangle(at);
    await this.graph.open(at.scope, at.place);
    this.keepPlace(at, before);
    this.afterChange();
    const { x, y, w, h } = this.rectangle(at);
    const { camera: { k }, canvas: { clientWidth, clientHeight } } = this;
    if (w * k <= clientWidth && h * k <= clientHeight) this.bringIntoView(at);
    else if (Math.min(clientWidth / w, clientHeight / h) > READABLE_ZOOM) this.fitRectangle({ x, y, w, h });
    // What is too large to be read as a whole is shown from its upper border, with the middle of its first row.
    else this.moveTo({ k: READABLE_ZOOM, x: clientWidth / 2 - (x + Pane.middleOfFirstRow(at)) * READABLE_ZOOM, y: MARGIN - y * READABLE_ZOOM });
  }

  /** The middle of the child in the middle of an open scope's first row, from the left border of the scope. */
  static middleOfFirstRow({ scope, place }) {
    const layout = layoutOf(scope.open.get(place));
    const items = layout.rows.find((row) => row.items.length > 0)?.items ?? [];
    const item = items[items.length >> 1];
    return item === undefined ? layout.width / 2 : layout.x[item] + layout.w[item] / 2;
  }

  close(at) {
    const before = this.rectangle(at);
    const inner = at.scope.open.get(at.place);
    this.graph.close(at.scope, at.place);
    for (let one = this.selection?.scope; one; one = one.parent) {
      if (one === inner) this.selection = at;
    }
    this.keepPlace(at, before);
    this.afterChange();
    this.bringIntoView(at);
  }

  closeAll() {
    this.graph.root.open.clear();
    this.graph.root.layout = null;
    this.select(null);
    this.afterChange();
    this.fit();
  }

  /** Moves the camera so that the middle of a child's upper border stays where it was. */
  keepPlace(at, before) {
    const after = this.rectangle(at);
    this.motion = null;
    this.camera.x += (before.x + before.w / 2 - after.x - after.w / 2) * this.camera.k;
    this.camera.y += (before.y - after.y) * this.camera.k;
  }

  /** Updates what depends on which scopes are open. */
  afterChange() {
    this.tree.rebuild();
    this.updateLinks();
    this.redraw();
    this.dispatchEvent(new Event('changed'));
  }

  // ---- Selection

  select(at, isQuiet = false) {
    this.selection = at;
    this.links = null;
    this.tree.showSelection();
    this.updateLinks();
    this.redraw();
    if (!isQuiet) this.dispatchEvent(new Event('selected'));
  }

  /** Opens the scopes around a node or scope with this address, selects it and moves to it. */
  async goTo(address, isNode = false) {
    const found = await this.graph.find(address, isNode);
    if (!found) return false;
    this.afterChange();
    this.select(found);
    this.bringIntoView(found);
    return true;
  }

  async goToNode(number) {
    const index = await this.graph.loadIndex();
    const found = await index.reveal(number);
    this.afterChange();
    this.select(found);
    this.bringIntoView(found);
  }

  /** The numbers of the first node and after the last node of a child. */
  static nodesOf({ scope, place }) {
    if (!scope.isScope(place)) return [scope.data.first + place, scope.data.first + place + 1];
    return null;
  }

  /** Finds the producers and consumers of the selected node, and where each is drawn. */
  async updateLinks() {
    const at = this.selection;
    const range = at && Pane.nodesOf(at);
    this.links = null;
    if (!range || (this.graph.summary.num_nodes > MAX_EAGER_INDEX && !this.graph.index)) return;
    const index = await this.graph.loadIndex();
    if (this.selection !== at) return;
    const own = this.rectangle(at);
    const ends = (nodes, isAbove) => {
      const seen = new Set();
      const lines = [];
      for (const node of nodes.subarray(0, MAX_LINKS)) {
        const other = index.visible(node);
        const box = this.rectangle(other);
        const key = `${box.x},${box.y}`;
        const isDrawn = other.scope === at.scope && !at.scope.data.is_grid && !at.scope.data.hubs.includes(other.place) && !at.scope.data.hubs.includes(at.place);
        if (seen.has(key) || isDrawn) continue;
        seen.add(key);
        const down = isAbove ? { x: box.x + box.w / 2, y: box.y + box.h } : { x: own.x + own.w / 2, y: own.y + own.h };
        const up = isAbove ? { x: own.x + own.w / 2, y: own.y } : { x: box.x + box.w / 2, y: box.y };
        lines.push([down, up]);
      }
      return lines;
    };
    this.links = new Map([['select', [...ends(index.producers(range[0]), true), ...ends(index.consumers(range[0]), false)]]]);
    this.redraw();
  }

  /** Marks nodes, by their numbers: a path, or search results. */
  async mark(nodes) {
    this.marked = nodes;
    this.marks = new Map();
    if (nodes.length > 0) {
      const index = await this.graph.loadIndex();
      for (const node of nodes) {
        const { scope, place } = index.visible(node);
        if (!this.marks.has(scope)) this.marks.set(scope, new Map());
        this.marks.get(scope).set(place, true);
      }
    }
    this.redraw();
  }
}
