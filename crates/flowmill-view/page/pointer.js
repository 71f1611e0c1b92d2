/** The mouse, touch and pen on a pane: drags move, the wheel and two fingers zoom, clicks select and open. */

/** A pointer that moves less is a click. */
const CLICK_PIXELS = 4;
/** The second click of a double click comes within this time, and does not open or close again. */
const DOUBLE_CLICK_MILLISECONDS = 500;
const WHEEL_SPEED = 0.0016;

export function attachPointer(pane) {
  const { canvas } = pane;
  const pointers = new Map();
  let [distance, hasMoved, toggled] = [0, false, -Infinity];
  const hasJustToggled = (event) => event.timeStamp - toggled < DOUBLE_CLICK_MILLISECONDS;
  const at = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button > 1) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at(event));
    [hasMoved, distance] = [pointers.size > 1, 0];
  });
  canvas.addEventListener('pointermove', (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      const hit = pane.hit(at(event).x, at(event).y);
      canvas.style.cursor = hit ? 'pointer' : 'grab';
      canvas.title = hit ? describe(hit) : '';
      return;
    }
    const now = at(event);
    if (pointers.size === 2) {
      const [other] = [...pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      const length = (point) => Math.hypot(point.x - other.x, point.y - other.y);
      pane.zoomAt((now.x + other.x) / 2, (now.y + other.y) / 2, length(now) / Math.max(1, length(before)));
    } else {
      distance += Math.hypot(now.x - before.x, now.y - before.y);
      if (distance > CLICK_PIXELS) hasMoved = true;
      if (hasMoved) pane.moveTo({ ...pane.camera, x: pane.camera.x + now.x - before.x, y: pane.camera.y + now.y - before.y }, false);
    }
    pointers.set(event.pointerId, now);
  });
  const end = (event) => {
    if (!pointers.delete(event.pointerId) || hasMoved || event.type === 'pointercancel') return;
    const { x, y } = at(event);
    const hit = pane.hit(x, y);
    pane.select(hit && { scope: hit.scope, place: hit.place });
    if (!hit?.toggles || hasJustToggled(event)) return;
    toggled = event.timeStamp;
    pane.toggle(hit);
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
  canvas.addEventListener('dblclick', (event) => {
    const { x, y } = at(event);
    const hit = pane.hit(x, y);
    if (hit && !hit.toggles && !hasJustToggled(event)) pane.toggle(hit);
  });
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const { x, y } = at(event);
    if (event.shiftKey) pane.moveTo({ ...pane.camera, x: pane.camera.x - event.deltaX - event.deltaY }, false);
    else pane.zoomAt(x, y, Math.exp(-event.deltaY * (event.deltaMode === 1 ? 30 : 1) * WHEEL_SPEED));
  }, { passive: false });
}

function describe({ scope, place }) {
  return scope.isScope(place) ? `${scope.address(place)}, ${scope.sub(place).n} nodes` : `${scope.name(place)} (${scope.op(place)})`;
}
