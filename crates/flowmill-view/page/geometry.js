/**
 * Places of children when some of them are open. The rows and the places in them come with the data, for closed children; an open child pushes its
 * neighbours in the row aside, and the rows below down.
 */
import { CONTROL, FIRST_BEND, INPUTS, OUTPUTS } from './data.js';

export const NODE_HEIGHT = 26;
export const SCOPE_HEIGHT = 40;
export const HEADER = 26;
export const PADDING = 18;
/** The part of a node's width at the left where its constants are. */
export const ATTACHED_WIDTH = 16;
const ROW_GAP = 46;
const GRID_GAP = 18;
const GAP = 24;
const BEND_GAP = 10;
const HUB_GAP = 12;
const HUBS_LEFT = 60;
const HUB_COLUMN = 12;
/** Ends of edges at a box are at most so far from each other. */
const END_DISTANCE = 14;

/**
 * Returns the positions nearest to the wanted ones, by their squared distances, such that each is at least `distances[i]` after the one before: neighbours that
 * would come too close are pooled. `separate` in `layout/coordinates.rs` is the same with weights.
 */
export function separate(wanted, distances) {
  const pools = [];
  const offsets = [];
  let offset = 0;
  wanted.forEach((position, i) => {
    offset += i > 0 ? distances[i - 1] : 0;
    offsets.push(offset);
    pools.push({ sum: position - offset, count: 1 });
    while (pools.length > 1) {
      const [before, last] = pools.slice(-2);
      if (before.sum * last.count <= last.sum * before.count) break;
      pools.splice(-2, 2, { sum: before.sum + last.sum, count: before.count + last.count });
    }
  });
  const starts = pools.flatMap(({ sum, count }) => new Array(count).fill(sum / count));
  return starts.map((start, i) => start + offsets[i]);
}

/** The places of a scope's children relative to the scope's upper left corner. */
class Layout {
  constructor(scope) {
    const { data } = scope;
    const n = scope.numChildren;
    this.x = new Float32Array(n);
    this.y = new Float32Array(n);
    this.w = Float32Array.from(data.widths);
    this.h = new Float32Array(n);
    for (let place = 0; place < n; place += 1) this.h[place] = scope.isScope(place) ? SCOPE_HEIGHT : NODE_HEIGHT;
    for (const [place, opened] of scope.open) {
      const inner = layoutOf(opened);
      this.w[place] = inner.width;
      this.h[place] = inner.height;
    }
    this.isPlaced = new Uint8Array(n);
    this.rowOf = new Uint32Array(n);
    this.bends = new Map();
    this.ports = new Map();
    this.rows = [];
    this.placeRows(scope);
    this.placeHubs(scope);
    this.placeAttached(scope);
    this.edges = null;
  }

  placeRows(scope) {
    const { data } = scope;
    const isOpen = (item) => item >= 0 && scope.open.has(item);
    const centres = data.rows.map((row, r) => (row.some(isOpen) ? this.pushAside(row, data.xs[r]) : data.xs[r]));
    let [left, right] = data.rows.length > 0 ? [Infinity, -Infinity] : [0, 0];
    data.rows.forEach((row, r) => row.forEach((item, i) => {
      const half = item >= 0 ? this.w[item] / 2 : 4;
      left = Math.min(left, centres[r][i] - half);
      right = Math.max(right, centres[r][i] + half);
    }));
    const isRoot = !scope.parent;
    const title = isRoot ? 0 : scope.info.name.length * 7 + 60;
    const missing = Math.max(0, title - (right - left));
    this.originX = PADDING - left + missing / 2;
    let y = isRoot ? PADDING : HEADER + PADDING;
    const gap = data.is_grid ? GRID_GAP : ROW_GAP;
    data.rows.forEach((row, r) => {
      const heights = row.map((item) => (item >= 0 ? this.h[item] : item === INPUTS || item === OUTPUTS ? 6 : 0));
      const height = heights.reduce((a, b) => Math.max(a, b), 0);
      const order = { top: y, bottom: y + height, items: [] };
      row.forEach((item, i) => {
        const x = this.originX + centres[r][i];
        if (item >= 0) {
          this.x[item] = x - this.w[item] / 2;
          this.y[item] = y + (height - this.h[item]) / 2;
          this.isPlaced[item] = 1;
          this.rowOf[item] = r;
          order.items.push(item);
        } else if (item === INPUTS || item === OUTPUTS) {
          this.ports.set(item, { x, y: item === INPUTS ? HEADER : y + height, isLast: r === data.rows.length - 1 });
        } else {
          this.bends.set(FIRST_BEND - item, { x, top: y, bottom: y + height });
        }
      });
      this.rows.push(order);
      y += height + gap;
    });
    this.width = Math.max(right - left, title) + 2 * PADDING;
    this.height = Math.max(y - gap + PADDING, isRoot ? 0 : HEADER + 2 * PADDING);
    const outputs = this.ports.get(OUTPUTS);
    if (outputs?.isLast) outputs.y = this.height;
  }

  pushAside(row, wanted) {
    const width = (item) => (item >= 0 ? this.w[item] : 0);
    const distances = row.slice(1).map((item, i) => {
      const gap = item < 0 || row[i] < 0 ? BEND_GAP : GAP;
      return (width(item) + width(row[i])) / 2 + gap;
    });
    return separate(wanted, distances);
  }

  /** Places the hubs in columns at the right. */
  placeHubs(scope) {
    const { hubs } = scope.data;
    if (hubs.length === 0) return;
    const top = scope.parent ? HEADER + PADDING : PADDING;
    const perColumn = Math.max(HUB_COLUMN, Math.floor((this.height - top) / (NODE_HEIGHT + HUB_GAP)));
    let x = this.width - PADDING + HUBS_LEFT;
    this.hubsX = x - HUBS_LEFT / 2;
    for (let start = 0; start < hubs.length; start += perColumn) {
      const column = hubs.slice(start, start + perColumn);
      const width = Math.max(...column.map((place) => this.w[place]));
      column.forEach((place, i) => {
        this.x[place] = x;
        this.y[place] = top + 14 + i * (NODE_HEIGHT + HUB_GAP);
        this.isPlaced[place] = 1;
        this.height = Math.max(this.height, this.y[place] + NODE_HEIGHT + PADDING);
      });
      x += width + HUB_GAP;
    }
    this.width = x - HUB_GAP + PADDING;
  }

  /** Places constants at the left of the nodes that use them. */
  placeAttached(scope) {
    const counts = new Map();
    this.numAttached = new Map();
    for (const [place, owner] of scope.data.attached) {
      const i = counts.get(owner) ?? 0;
      counts.set(owner, i + 1);
      const step = Math.min(9, (this.h[owner] - 4) / 3);
      this.w[place] = 8;
      this.h[place] = 8;
      this.x[place] = this.x[owner] + 1;
      this.y[place] = this.y[owner] + 1 + Math.min(i, 2) * step;
      this.isPlaced[place] = i < 3 ? 1 : 0;
      this.numAttached.set(owner, i + 1);
    }
  }

  /** The box that edges lead to: that of a node without its constants. */
  box(scope, place) {
    const shift = this.numAttached.has(place) && !scope.open.has(place) ? ATTACHED_WIDTH : 0;
    return { x: this.x[place] + shift, y: this.y[place], w: this.w[place] - shift, h: this.h[place] };
  }

  /** The routes of the edges: points from the source to the target. */
  routes(scope) {
    if (!this.edges) this.edges = makeRoutes(scope, this);
    return this.edges;
  }
}

/** The layout of a scope, made anew if something in it was opened or closed. */
export function layoutOf(scope) {
  scope.layout ??= new Layout(scope);
  return scope.layout;
}

function makeRoutes(scope, layout) {
  const { data } = scope;
  const routes = [];
  if (data.is_grid) return routes;
  let firstBend = 0;
  data.src.forEach((src, edge) => {
    const bends = [];
    for (let i = 0; i < data.bends[edge]; i += 1) bends.push(layout.bends.get(firstBend + i));
    firstBend += data.bends[edge];
    const dst = data.dst[edge];
    const isShown = (end) => (end < 0 ? layout.ports.has(end) : layout.isPlaced[end] && !data.hubs.includes(end) && layout.h[end] > 8);
    const isOuterControl = data.kinds[edge] === CONTROL && (src < 0 || dst < 0);
    if (!isShown(src) || !isShown(dst) || isOuterControl) return;
    // An edge over many rows without bends would cross boxes: it is drawn for a selected end only.
    const isHidden = bends.length === 0 && src >= 0 && dst >= 0 && Math.abs(layout.rowOf[src] - layout.rowOf[dst]) > 1;
    routes.push({ edge, src, dst, up: data.up[edge] === 1, bends, isHidden, points: null });
  });
  spreadEnds(scope, layout, routes);
  return routes;
}

/** The x coordinate at which edges meet a child. */
function middle(scope, layout, end) {
  if (end < 0) return layout.ports.get(end).x;
  const { x, w } = layout.box(scope, end);
  return x + w / 2;
}

/** Gives the edges of each child different ends, in the order of where they come from. */
function spreadEnds(scope, layout, routes) {
  const groups = new Map();
  const note = (end, isTop, route, isFirst) => {
    const key = `${end}${isTop ? 't' : 'b'}`;
    if (!groups.has(key)) groups.set(key, { end, ends: [] });
    const other = isFirst ? route.bends[0]?.x ?? middle(scope, layout, route.dst) : route.bends.at(-1)?.x ?? middle(scope, layout, route.src);
    groups.get(key).ends.push({ route, isFirst, other });
  };
  for (const route of routes) {
    note(route.src, route.up, route, true);
    note(route.dst, !route.up, route, false);
  }
  for (const { end, ends } of groups.values()) {
    ends.sort((a, b) => a.other - b.other);
    const width = end < 0 ? 0 : layout.box(scope, end).w - 16;
    const distance = ends.length > 1 ? Math.min(END_DISTANCE, width / (ends.length - 1)) : 0;
    const centre = middle(scope, layout, end);
    ends.forEach(({ route, isFirst }, i) => {
      route[isFirst ? 'startX' : 'endX'] = centre + (i - (ends.length - 1) / 2) * distance;
    });
  }
  for (const route of routes) {
    const y = (end, isTop) => {
      if (end < 0) return layout.ports.get(end).y;
      return isTop ? layout.y[end] : layout.y[end] + layout.h[end];
    };
    // Within a row that an open scope has made high, edges are vertical, so that they do not cross the scope.
    const border = (end, x, isTop) => {
      if (end < 0) return [];
      const { top, bottom } = layout.rows[layout.rowOf[end]];
      const [from, to] = isTop ? [layout.y[end], top] : [layout.y[end] + layout.h[end], bottom];
      return Math.abs(from - to) > 1 ? [{ x, y: to }] : [];
    };
    const inner = route.bends.flatMap(({ x, top, bottom }) => {
      const [a, b] = route.up ? [bottom, top] : [top, bottom];
      return a === b ? [{ x, y: a }] : [{ x, y: a }, { x, y: b }];
    });
    const [start, end] = [{ x: route.startX, y: y(route.src, route.up) }, { x: route.endX, y: y(route.dst, !route.up) }];
    route.points = [start, ...border(route.src, start.x, route.up), ...inner, ...border(route.dst, end.x, !route.up), end];
    const xs = route.points.map((p) => p.x);
    const ys = route.points.map((p) => p.y);
    route.bounds = [Math.min(...xs) - 2, Math.min(...ys) - 2, Math.max(...xs) + 2, Math.max(...ys) + 2];
  }
}
