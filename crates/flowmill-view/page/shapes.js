/** Outlines of nodes by their role. */

const RADIUS = 6;

/** Corners of polygons as parts of the width and pixels: `x = left + a * width + b`. */
function corners(role, x, y, w, h) {
  const s = Math.min(10, w / 4);
  const [right, bottom, mid] = [x + w, y + h, y + h / 2];
  switch (role) {
    case 2: return [[x + s, y], [right, y], [right - s, bottom], [x, bottom]];
    case 3: return [[x, y], [right - s, y], [right, bottom], [x + s, bottom]];
    case 5: return [[x + s, y], [right - s, y], [right, bottom], [x, bottom]];
    case 6: return [[x, y], [right, y], [right - s, bottom], [x + s, bottom]];
    case 7: return [[x, y], [right, y], [right, bottom - s], [x + w / 2, bottom], [x, bottom - s]];
    case 8: return [[x, y], [x + w / 2, y + s / 2], [right, y], [right, bottom - s / 2], [x + w / 2, bottom], [x, bottom - s / 2]];
    case 9: return [[x, y + s], [x + w / 2, y], [right, y + s], [right, bottom], [x, bottom]];
    case 10: case 12: return [[x + s, y], [right - s, y], [right, mid], [right - s, bottom], [x + s, bottom], [x, mid]];
    case 14: return [[x, y], [right - s, y], [right, mid], [right - s, bottom], [x, bottom]];
    case 15: return [[x, y], [right, y], [right, bottom], [x, bottom], [x + s, mid]];
    default: return null;
  }
}

/** Returns the part of a node's width that its name must leave free: outlines that slant to one side have less room. */
export function textMargin(role) {
  return role === 2 || role === 3 ? 24 : 14;
}

/** Adds the outline of a node to a path. */
export function outline(path, role, x, y, w, h) {
  const points = corners(role, x, y, w, h);
  if (points) {
    points.forEach(([px, py], i) => (i === 0 ? path.moveTo(px, py) : path.lineTo(px, py)));
    path.closePath();
  } else {
    path.roundRect(x, y, w, h, role === 1 || role === 4 ? h / 2 : RADIUS);
  }
}

/** Adds a line through points that leaves and enters them vertically. */
export function curve(path, points, dx, dy) {
  path.moveTo(points[0].x + dx, points[0].y + dy);
  for (let i = 1; i < points.length; i += 1) {
    const [a, b] = [points[i - 1], points[i]];
    if (Math.abs(a.x - b.x) < 0.5) {
      path.lineTo(b.x + dx, b.y + dy);
    } else {
      const middle = (a.y + b.y) / 2 + dy;
      path.bezierCurveTo(a.x + dx, middle, b.x + dx, middle, b.x + dx, b.y + dy);
    }
  }
}

/** Adds the head of an arrow that ends at a point, pointing up or down. */
export function arrowHead(path, { x, y }, up, dx, dy) {
  const length = up ? 6 : -6;
  path.moveTo(x + dx, y + dy);
  path.lineTo(x + dx - 3.2, y + dy + length);
  path.lineTo(x + dx + 3.2, y + dy + length);
  path.closePath();
}

/** Adds a curve between any two points. */
export function bow(path, a, b) {
  const reach = Math.max(24, Math.abs(b.y - a.y) / 2);
  const down = b.y >= a.y ? 1 : -1;
  path.moveTo(a.x, a.y);
  path.bezierCurveTo(a.x, a.y + reach * down, b.x, b.y - reach * down, b.x, b.y);
}
