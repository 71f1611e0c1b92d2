/** The state of the page as the fragment of its address, so that a link restores it. */
import { FACETS } from './filter.js';

const encodePath = (path) => path.split('/').map(encodeURIComponent).join('/');
const decodePath = (path) => path.split('/').map(decodeURIComponent).join('/');

/** The addresses of the open scopes that are in no other open scope that is listed: the innermost ones. */
function openScopes(scope, found = []) {
  for (const [place, opened] of scope.open) {
    if (opened.open.size > 0) openScopes(opened, found);
    else found.push(scope.address(place));
  }
  return found;
}

/** Returns the state of the page. */
export function writeState(page) {
  const { panes, mode } = page;
  const params = new URLSearchParams();
  params.set('view', panes.map((pane) => pane.graph.number).join('-'));
  if (mode !== 'kind') params.set('colour', mode);
  const [pane] = panes;
  for (const { name } of FACETS) if (pane.filter.chosen.has(name)) params.set(name, [...pane.filter.chosen.get(name)].map(encodeURIComponent).join('|'));
  panes.forEach((one, i) => {
    const open = openScopes(one.graph.root);
    const suffix = i === 0 ? '' : String(i);
    if (open.length > 0) params.set(`open${suffix}`, open.map(encodePath).join('|'));
    if (one.selection) params.set(`select${suffix}`, encodePath(one.selection.scope.address(one.selection.place)));
    const { x, y, k } = one.camera;
    params.set(`camera${suffix}`, [x.toFixed(1), y.toFixed(1), k.toPrecision(4)].join(','));
  });
  return params.toString();
}

/** Reads a fragment: the numbers of the views, the colours, the filter, and for each pane the open scopes, the selection and the camera. */
export function readState(fragment) {
  const params = new URLSearchParams(fragment.replace(/^#/, ''));
  const views = (params.get('view') ?? '0').split('-').map(Number).filter(Number.isInteger).slice(0, 2);
  const lists = FACETS.filter(({ name }) => params.has(name)).map(({ name }) => [name, params.get(name).split('|').map(decodeURIComponent)]);
  const panes = views.map((_, i) => {
    const suffix = i === 0 ? '' : String(i);
    const camera = params.get(`camera${suffix}`)?.split(',').map(Number);
    return {
      open: (params.get(`open${suffix}`) ?? '').split('|').filter(Boolean).map(decodePath),
      select: params.has(`select${suffix}`) ? decodePath(params.get(`select${suffix}`)) : null,
      camera: camera?.length === 3 && camera.every(Number.isFinite) && camera[2] > 0 ? { x: camera[0], y: camera[1], k: camera[2] } : null,
    };
  });
  return { views: views.length > 0 ? views : [0], mode: params.get('colour') ?? 'kind', filter: lists, panes };
}

/** Opens, selects and moves a pane as a state says. What no longer exists is left out. */
export async function restore(pane, { open, select, camera }) {
  for (const address of open) {
    const found = await pane.graph.find(address);
    if (found) await pane.graph.open(found.scope, found.place);
  }
  const selected = select === null ? null : await pane.graph.find(select);
  pane.afterChange();
  if (selected) pane.select(selected);
  if (camera) pane.moveTo(camera, false);
  else pane.fit(false);
}
