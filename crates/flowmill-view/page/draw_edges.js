/** Draws edges: those of the layouts, and the exact ones of the selected node. */
import { CONTROL, DATA, REFERENCE } from './data.js';
import { arrowHead, bow, curve } from './shapes.js';

const LABEL_ZOOM = 0.75;
const ARROW_ZOOM = 0.35;
const STYLES = { [DATA]: 'edge', [REFERENCE]: 'reference', [CONTROL]: 'control' };

/** Draws the edges of a scope, and what they carry. */
export function drawEdges(painter, scope, layout, x, y) {
  const routes = layout.routes(scope);
  if (routes.length === 0) return;
  const { context, theme, zoom } = painter;
  const { selection, marks, filter } = painter.view;
  const isMarked = (route) => selection?.scope === scope && (route.src === selection.place || route.dst === selection.place);
  const isOnPath = (route) => marks.get(scope)?.has(route.src) && marks.get(scope)?.has(route.dst);
  const paths = new Map();
  const heads = new Map();
  const visible = routes.filter((route) => {
    const [x0, y0, x1, y1] = route.bounds;
    return painter.isVisible(x + x0, y + y0, x + x1, y + y1) && (!route.isHidden || isMarked(route) || isOnPath(route));
  });
  for (const route of visible) {
    const kind = scope.data.kinds[route.edge];
    const name = isMarked(route) ? 'select' : isOnPath(route) ? 'hit' : STYLES[kind];
    const key = `${name} ${route.up || kind === CONTROL ? 'dashed' : 'solid'}`;
    if (!paths.has(key)) {
      paths.set(key, new Path2D());
      heads.set(key, new Path2D());
    }
    curve(paths.get(key), route.points, x, y);
    if (zoom > ARROW_ZOOM) arrowHead(heads.get(key), route.points.at(-1), route.up, x, y);
  }
  for (const [key, path] of paths) {
    const [name, dash] = key.split(' ');
    context.globalAlpha = filter.isActive ? 0.35 : 1;
    context.strokeStyle = theme[name];
    context.fillStyle = theme[name];
    context.lineWidth = name === 'select' || name === 'hit' ? 2.2 : Math.max(1, 0.6 / zoom);
    context.setLineDash(dash === 'dashed' ? [5, 4] : []);
    context.stroke(path);
    context.setLineDash([]);
    context.fill(heads.get(key));
  }
  context.globalAlpha = 1;
  if (zoom <= LABEL_ZOOM) return;
  // The labels of the selection are first, and take the place of others.
  for (const wanted of [true, false]) for (const route of visible) if (Boolean(isMarked(route)) === wanted) edgeLabel(painter, scope, route, x, y, wanted);
}

function edgeLabel(painter, scope, route, x, y, isMarked) {
  const label = scope.data.labels[route.edge];
  if (!label) return;
  const { context, theme } = painter;
  const end = route.points.at(-1);
  const [left, top] = [x + end.x + 4, y + end.y + (route.up ? 13 : -13)];
  context.font = '10px ui-monospace, monospace';
  const text = label.length > 34 ? `${label.slice(0, 33)}…` : label;
  const cells = [];
  for (let cell = Math.floor(left / 12); cell <= (left + text.length * 6) / 12; cell += 1) cells.push(`${cell},${Math.floor(top / 12)}`);
  if (cells.some((cell) => painter.occupied.has(cell))) return;
  cells.forEach((cell) => painter.occupied.add(cell));
  context.fillStyle = isMarked ? theme.select : theme.faint;
  context.textAlign = 'left';
  context.fillText(text, left, top);
}

/** Draws curves from the selected node to its producers and consumers. */
export function drawLinks(painter) {
  const { context, theme } = painter;
  for (const [colour, list] of painter.view.links ?? []) {
    const path = new Path2D();
    for (const [a, b] of list) bow(path, a, b);
    context.strokeStyle = theme[colour];
    context.lineWidth = Math.max(1.6, 1 / painter.zoom);
    context.globalAlpha = 0.75;
    context.stroke(path);
    context.globalAlpha = 1;
  }
}
