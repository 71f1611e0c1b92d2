/** Draws the visible part of a graph on a canvas. */
import { FUNCTION, SERIES } from './data.js';
import { drawEdges, drawLinks } from './draw_edges.js';
import { ATTACHED_WIDTH, HEADER, NODE_HEIGHT, layoutOf } from './geometry.js';
import { outline, textMargin } from './shapes.js';
import { plural, timeText } from './format.js';

/** Zooms below which something is not drawn. */
const TEXT_ZOOM = 0.42;
const OUTLINE_ZOOM = 0.16;
const BAR_ZOOM = 0.02;
/** Open scopes that are smaller on the screen are drawn without their content. */
const MIN_SCOPE_PIXELS = 12;
const DIMMED = 0.18;
/** The width of the bar of nodes in loops. */
const LOOP_BAR = 5;
/** Signs of nodes that call functions, by role. */
const NODE_GLYPHS = { 11: 'ƒ ', 12: '⑂ ', 13: '↻ ' };

/** Paints one frame. `view` has the graph, the camera, the colours, the theme, what is selected and marked, and the filter. */
export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.widths = new Map();
  }

  paint(view) {
    const { canvas, context } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const { x, y, k } = view.camera;
    Object.assign(this, { view, theme: view.theme, zoom: k, occupied: new Set(), numDrawn: 0, anchors: new Map() });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.theme.card;
    context.fillRect(0, 0, width, height);
    context.setTransform(ratio * k, 0, 0, ratio * k, ratio * x, ratio * y);
    context.textBaseline = 'middle';
    this.window = [-x / k, -y / k, (width - x) / k, (height - y) / k];
    if (view.graph) this.scope(view.graph.root, 0, 0, 0);
    drawLinks(this);
    return this.numDrawn;
  }

  isVisible(x0, y0, x1, y1) {
    const [left, top, right, bottom] = this.window;
    return x1 >= left && x0 <= right && y1 >= top && y0 <= bottom;
  }

  scope(scope, x, y, depth) {
    const layout = layoutOf(scope);
    if (!this.isVisible(x, y, x + layout.width, y + layout.height)) return;
    if (scope.parent) this.frame(scope, layout, x, y, depth);
    if (scope.parent && layout.width * this.zoom < MIN_SCOPE_PIXELS) return;
    drawEdges(this, scope, layout, x, y);
    if (scope.data.hubs.length > 0) this.hubsLine(layout, x, y);
    for (const row of this.rows(layout, y)) this.row(scope, layout, row, x, y, depth);
    for (const place of scope.data.hubs) this.child(scope, layout, place, x, y, depth);
    if (this.zoom > TEXT_ZOOM / 2) {
      for (const [place, owner] of scope.data.attached) if (!scope.open.has(owner)) this.attached(scope, layout, place, x, y);
    }
  }

  /** The rows within the window. */
  * rows(layout, y) {
    const [, top, , bottom] = this.window;
    const { rows } = layout;
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].bottom + y < top) low = middle + 1;
      else high = middle;
    }
    for (let i = low; i < rows.length && rows[i].top + y <= bottom; i += 1) yield rows[i];
  }

  row(scope, layout, row, x, y, depth) {
    const { items } = row;
    const [left, , right] = this.window;
    // A row of small boxes is one bar.
    if (items.length > 8 && this.zoom < BAR_ZOOM && scope.open.size === 0) {
      const [first, last] = [items[0], items.at(-1)];
      this.context.globalAlpha = 0.5;
      this.context.fillStyle = this.view.colours.mode === 'kind' ? this.theme.faint : this.colourOf(scope, first);
      this.context.fillRect(x + layout.x[first], y + row.top, layout.x[last] + layout.w[last] - layout.x[first], row.bottom - row.top);
      this.context.globalAlpha = 1;
      return;
    }
    let [low, high] = [0, items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (layout.x[items[middle]] + layout.w[items[middle]] + x < left) low = middle + 1;
      else high = middle;
    }
    if (this.zoom < OUTLINE_ZOOM && this.areSmall(scope)) {
      this.smallNodes(scope, layout, items, low, x, y);
      return;
    }
    for (let i = low; i < items.length && layout.x[items[i]] + x <= right; i += 1) this.child(scope, layout, items[i], x, y, depth);
  }

  /** Returns true if the children of a scope are nodes that all look alike but for their colours. */
  areSmall(scope) {
    const { selection, marks, filter } = this.view;
    return scope.numNodes === scope.numChildren && selection?.scope !== scope && !marks.has(scope) && !filter.isActive;
  }

  /** Draws nodes as rectangles. Neighbours of one colour are one rectangle if the gaps between them cannot be seen. */
  smallNodes(scope, layout, items, low, x, y) {
    const { context, zoom } = this;
    const right = this.window[2];
    let [colour, start, end, top] = ['', 0, 0, 0];
    const flush = () => colour && context.fillRect(start, top, end - start, NODE_HEIGHT);
    for (let i = low; i < items.length && layout.x[items[i]] + x <= right; i += 1) {
      const place = items[i];
      const left = layout.x[place] + x;
      const own = this.view.colours.mode === 'kind' ? this.smallColour(scope, place) : this.view.colours.node(scope, place);
      if (own !== colour || (left - end) * zoom > 1.5) {
        flush();
        if (own !== colour) context.fillStyle = own;
        [colour, start, top] = [own, left, y + layout.y[place]];
      }
      end = left + layout.w[place];
    }
    flush();
    this.numDrawn += 1;
  }

  /** The colour of a node without an outline, which must not be that of the background. */
  smallColour(scope, place) {
    const colour = this.view.colours.node(scope, place);
    return colour === this.theme.plain ? this.theme.line : colour;
  }

  child(scope, layout, place, x, y, depth) {
    const opened = scope.open.get(place);
    if (opened) this.scope(opened, x + layout.x[place], y + layout.y[place], depth + 1);
    else if (scope.isScope(place)) this.closed(scope, layout, place, x, y);
    else this.node(scope, layout, place, x, y);
  }

  colourOf(scope, place) {
    const { colours } = this.view;
    return scope.isScope(place) ? colours.scope(scope.sub(place))[0]?.[0] ?? this.theme.scope : colours.node(scope, place);
  }

  /** The state of a child: selected, marked, or dimmed by the filter. */
  stateOf(scope, place) {
    const { selection, marks, filter } = this.view;
    return {
      isSelected: selection?.scope === scope && selection.place === place,
      mark: marks.get(scope)?.get(place),
      isDimmed: filter.isActive && !filter.matches(scope, place),
    };
  }

  node(scope, layout, place, x, y) {
    const box = layout.box(scope, place);
    const [left, top, w, h] = [x + box.x, y + box.y, box.w, box.h];
    if (!this.isVisible(left - 16, top, left + w, top + h)) return;
    this.numDrawn += 1;
    const { context, theme } = this;
    const { isSelected, mark, isDimmed } = this.stateOf(scope, place);
    const role = scope.data.roles[place];
    context.globalAlpha = isDimmed ? DIMMED : 1;
    context.fillStyle = this.view.colours.node(scope, place);
    if (this.zoom < OUTLINE_ZOOM && !isSelected && !mark) {
      context.fillStyle = this.smallColour(scope, place);
      context.fillRect(left, top, w, h);
    } else {
      context.beginPath();
      outline(context, role, left, top, w, h);
      context.fill();
      this.border(isSelected, mark, role === 4);
      if (scope.data.loops[place]) {
        context.save();
        context.clip();
        context.fillStyle = theme.colours[3];
        context.fillRect(left, top, LOOP_BAR, h);
        context.restore();
      }
    }
    if (this.zoom > TEXT_ZOOM) {
      context.font = '12px system-ui, sans-serif';
      context.fillStyle = this.view.colours.node(scope, place) === theme.plain ? theme.text : theme.label;
      this.text(`${NODE_GLYPHS[role] ?? ''}${scope.label(place)}`, left + w / 2, top + h / 2 + 0.5, w - textMargin(role), 'center');
      const attached = layout.numAttached.get(place) ?? 0;
      if (attached > 3) this.text(`+${attached - 3}`, left - 2, top + h + 5, 20, 'right');
    }
    context.globalAlpha = 1;
  }

  border(isSelected, mark, isDashed = false) {
    const { context, theme } = this;
    context.lineWidth = isSelected ? 3 : mark ? 2.5 : 1;
    context.strokeStyle = isSelected ? theme.select : mark ? theme.hit : theme.faint;
    if (isDashed) context.setLineDash([3, 3]);
    context.stroke();
    if (isDashed) context.setLineDash([]);
  }

  /** A closed scope: its name, its size, and the shares of colours. */
  closed(scope, layout, place, x, y) {
    const box = layout.box(scope, place);
    const [left, top, w, h] = [x + box.x, y + box.y, box.w, box.h];
    if (!this.isVisible(left, top, left + w, top + h)) return;
    this.numDrawn += 1;
    const { context, theme } = this;
    const { isSelected, mark, isDimmed } = this.stateOf(scope, place);
    const sub = scope.sub(place);
    context.globalAlpha = isDimmed ? DIMMED : 1;
    if (sub.kind === SERIES && this.zoom > OUTLINE_ZOOM) {
      for (const shift of [6, 3]) {
        context.beginPath();
        context.roundRect(left + shift, top + shift, w, h, 9);
        context.fillStyle = theme.scope;
        context.fill();
        this.border(false, false);
      }
    }
    context.beginPath();
    context.roundRect(left, top, w, h, 9);
    context.fillStyle = theme.scope;
    context.fill();
    const shares = this.view.colours.scope(sub);
    if (shares.length > 0) this.shares(shares, left, top, w, h);
    context.beginPath();
    context.roundRect(left, top, w, h, 9);
    this.border(isSelected, mark);
    if (this.zoom > TEXT_ZOOM) {
      context.fillStyle = theme.text;
      context.font = '600 12px system-ui, sans-serif';
      this.text(`${glyph(sub)}${sub.name}`, left + 12, top + 14, w - 38, 'left');
      context.font = '10.5px system-ui, sans-serif';
      context.fillStyle = theme.faint;
      const measured = sub.t > 0 ? ` · ${timeText(sub.t)}` : '';
      this.text(`${plural(sub.n, 'node')}${measured}`, left + 12, top + 27, w - 38, 'left');
      context.fillStyle = theme.link;
      context.font = '15px system-ui, sans-serif';
      this.text('▸', left + w - 15, top + h / 2, 20, 'center');
    }
    context.globalAlpha = 1;
  }

  shares(shares, left, top, w, h) {
    const { context } = this;
    const isWhole = shares.length === 1;
    context.save();
    context.beginPath();
    context.roundRect(left, top, w, h, 9);
    context.clip();
    let x = left;
    const height = isWhole && (this.view.colours.mode === 'time' || this.view.colours.mode === 'memory') ? 7 : 5;
    for (const [colour, part] of shares) {
      context.fillStyle = colour;
      context.fillRect(x, top + h - height, w * part + 0.5, height);
      x += w * part;
    }
    context.restore();
  }

  /** The background and the title of an open scope. */
  frame(scope, layout, x, y, depth) {
    const { context, theme } = this;
    const { isSelected, mark } = this.stateOf(scope.parent, scope.place);
    context.beginPath();
    context.roundRect(x, y, layout.width, layout.height, 10);
    context.fillStyle = depth % 2 === 1 ? theme.back : theme.card;
    context.fill();
    this.border(isSelected, mark, scope.info.note !== undefined && scope.info.note !== '');
    this.numDrawn += 1;
    if (this.zoom < TEXT_ZOOM / 2) return;
    context.font = '600 12px system-ui, sans-serif';
    context.fillStyle = theme.link;
    this.text('▾', x + 14, y + HEADER / 2 + 1, 20, 'center');
    context.fillStyle = theme.text;
    const note = scope.info.note ? ` · ${scope.info.note}` : '';
    this.text(`${glyph(scope.info)}${scope.info.name}${note}`, x + 26, y + HEADER / 2 + 1, layout.width - 40, 'left');
  }

  hubsLine(layout, x, y) {
    const { context, theme } = this;
    context.setLineDash([2, 4]);
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x + layout.hubsX, y + HEADER + 4);
    context.lineTo(x + layout.hubsX, y + layout.height - 8);
    context.stroke();
    context.setLineDash([]);
    if (this.zoom < TEXT_ZOOM) return;
    context.font = '10.5px system-ui, sans-serif';
    context.fillStyle = theme.faint;
    this.text('used by many', x + layout.hubsX + 30, y + HEADER + 6, 100, 'left');
  }

  attached(scope, layout, place, x, y) {
    if (!layout.isPlaced[place]) return;
    const [left, top] = [x + layout.x[place], y + layout.y[place]];
    if (!this.isVisible(left, top, left + 16, top + 8)) return;
    this.numDrawn += 1;
    const { context, theme } = this;
    const { isSelected, mark, isDimmed } = this.stateOf(scope, place);
    context.globalAlpha = isDimmed ? DIMMED : 1;
    context.beginPath();
    context.arc(left + 4, top + 4, 3.5, 0, 7);
    context.fillStyle = this.view.colours.node(scope, place);
    context.fill();
    this.border(isSelected, mark);
    context.beginPath();
    context.moveTo(left + 8, top + 4);
    context.lineTo(left + ATTACHED_WIDTH - 1, top + 4);
    context.strokeStyle = theme.edge;
    context.lineWidth = 1;
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Writes text that is at most so wide; a longer one is cut in the middle. */
  text(text, x, y, width, align) {
    const { context } = this;
    const key = `${context.font} ${Math.round(width)} ${text}`;
    let shown = this.widths.get(key);
    if (shown === undefined) {
      shown = text;
      for (let length = text.length; length > 2 && context.measureText(shown).width > width; length -= 1) {
        shown = `${text.slice(0, Math.ceil(length / 2))}…${text.slice(text.length - Math.floor(length / 2) + 1)}`;
      }
      if (this.widths.size > 20000) this.widths.clear();
      this.widths.set(key, shown);
    }
    context.textAlign = align;
    context.fillText(shown, x, y);
  }
}

/** A sign for the kind of a scope. */
function glyph(sub) {
  if (sub.kind === FUNCTION) return 'ƒ ';
  if (sub.note?.startsWith('loop')) return '↻ ';
  if (sub.note === 'conditional') return '⑂ ';
  return '';
}
