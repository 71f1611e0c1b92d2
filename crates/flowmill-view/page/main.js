/** The page: its toolbar, panes and panel. */
import { MODES, Theme } from './colours.js';
import { readJson } from './data.js';
import { FACETS, greatestCounts } from './filter.js';
import { byId, count, element, plural } from './format.js';
import { Panel } from './panel.js';
import { Pane } from './pane.js';
import { MAX_RESULTS, search } from './search.js';
import { attachPointer } from './pointer.js';
import { readState, restore, writeState } from './state.js';

const SEARCH_DELAY_MILLISECONDS = 120;
const STATE_DELAY_MILLISECONDS = 250;
/** Values of a facet that the filter lists, the most frequent ones. */
const MAX_FILTER_ENTRIES = 200;

const page = { contents: null, panes: [], active: null, mode: 'kind', panel: new Panel(byId('panel')), theme: null };

function timer(milliseconds, action) {
  let pending = 0;
  return () => {
    clearTimeout(pending);
    pending = setTimeout(action, milliseconds);
  };
}

const saveState = timer(STATE_DELAY_MILLISECONDS, () => {
  const fragment = writeState(page);
  if (location.hash.slice(1) === fragment) return;
  try {
    history.replaceState(null, '', `#${fragment}`);
  } catch {
    // A page within a notebook has no address of its own.
  }
});

const announce = (text) => { byId('status').textContent = text; };

// ---- Panes

function addPane(number) {
  const pane = new Pane(byId('panes'), page.contents.views[number].name);
  pane.addEventListener('selected', () => {
    page.active = pane;
    page.panel.show(pane);
    selectCounterpart(pane);
    saveState();
  });
  for (const event of ['changed', 'moved']) pane.addEventListener(event, saveState);
  pane.addEventListener('changed', () => {
    if (page.active === pane) page.panel.show(pane);
    if (pane.marked?.length > 0) pane.mark(pane.marked);
  });
  pane.addEventListener('filtered', () => {
    fillFilter();
    page.panel.show(pane);
    saveState();
  });
  attachPointer(pane);
  page.panes.push(pane);
  return pane;
}

/** Shows views, side by side if there are two. */
async function showViews(numbers) {
  page.panes.forEach((pane) => pane.element.remove());
  page.panes = [];
  const known = numbers.filter((number) => number >= 0 && number < page.contents.views.length);
  const shown = known.length > 0 ? known : [0];
  // All panes have their widths before a graph is fitted into one.
  byId('panes').classList.toggle('two', shown.length > 1);
  shown.forEach(addPane);
  for (const [i, number] of shown.entries()) await page.panes[i].show(number, page.contents.views[number]);
  [page.active] = page.panes;
  byId('view').value = String(page.panes[0].graph.number);
  byId('compare').value = page.panes.length > 1 ? String(page.panes[1].graph.number) : '';
  applyColours();
  fillFilter();
  page.panel.show(page.active);
}

/** Shows other views, with the filter and the selection of those before, if there is a node or scope of that name. */
async function changeViews(numbers) {
  const [{ filter, graph }] = page.panes;
  const at = page.active.selection;
  const selected = at && { address: at.scope.address(at.place), isNode: !at.scope.isScope(at.place) };
  await showViews(numbers);
  for (const pane of page.panes) {
    for (const [facet, texts] of filter.chosen) pane.filter.choose(facet, [...texts]);
    if (pane.graph.number === graph.number) pane.filter.nodes = filter.nodes;
    if (selected) await pane.goTo(selected.address, selected.isNode);
  }
  page.panes.forEach((pane) => pane.redraw());
  fillFilter();
  saveState();
}

/** Selects the node of the same name in the other pane. */
async function selectCounterpart(pane) {
  const other = page.panes.find((one) => one !== pane);
  const at = pane.selection;
  if (!other || !at || at.scope.isScope(at.place)) return;
  const found = await other.graph.find(at.scope.address(at.place), true);
  if (!found || pane.selection !== at) return;
  other.afterChange();
  other.select(found, true);
  other.bringIntoView(found);
}

// ---- Colours and filter

const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');

function followSystem() {
  document.documentElement.dataset.theme = prefersDark.matches ? 'dark' : 'light';
}

function applyColours() {
  page.theme = new Theme();
  const summaries = page.panes.map((pane) => pane.graph.summary);
  const isThere = MODES.find(({ name }) => name === page.mode)?.isThere;
  const mode = isThere && summaries.some(isThere) ? page.mode : 'kind';
  for (const pane of page.panes) pane.setColours(mode, page.theme, summaries);
  const entries = page.panes[0].colours.legend().map(([colour, text]) => {
    const entry = element('li');
    const sample = element('span', 'sample');
    sample.style.background = colour;
    entry.append(sample, text);
    return entry;
  });
  byId('legend').replaceChildren(...entries);
  byId('colour').value = page.panes[0].colours.mode;
}

function fillFilter() {
  const [pane] = page.panes;
  const groups = FACETS.map((facet) => {
    const made = element('fieldset');
    made.append(element('legend', '', facet.label));
    const chosen = pane.filter.chosen.get(facet.name) ?? new Set();
    const counts = [...greatestCounts(facet, page.panes.map((one) => one.graph.summary))];
    made.hidden = counts.length === 0;
    for (const [text, n] of counts.slice(0, MAX_FILTER_ENTRIES)) {
      const label = element('label');
      const box = element('input');
      box.type = 'checkbox';
      box.value = text;
      box.checked = chosen.has(text);
      box.addEventListener('change', () => choose(facet.name, made));
      label.append(box, ` ${text} `, element('span', 'count', count(n)));
      made.append(label);
    }
    if (counts.length > MAX_FILTER_ENTRIES) made.append(element('p', 'hint', `and ${count(counts.length - MAX_FILTER_ENTRIES)} rarer ones`));
    return made;
  });
  byId('filter-groups').replaceChildren(...groups);
  const numChosen = [...pane.filter.chosen.values()].reduce((sum, set) => sum + set.size, 0) + (pane.filter.nodes ? 1 : 0);
  byId('filter-count').textContent = numChosen > 0 ? ` (${numChosen})` : '';
}

function choose(facet, group) {
  const texts = [...group.querySelectorAll('input:checked')].map((box) => box.value);
  for (const pane of page.panes) {
    pane.filter.choose(facet, texts);
    pane.redraw();
  }
  const numChosen = page.panes[0].filter.chosen.size;
  byId('filter-count').textContent = numChosen > 0 ? ` (${numChosen})` : '';
  saveState();
}

// ---- Search

let numSearches = 0;

async function runSearch() {
  const [box, results] = [byId('search'), byId('results')];
  numSearches += 1;
  const number = numSearches;
  const text = box.value;
  results.hidden = text.trim() === '';
  if (results.hidden) return;
  const pane = page.active;
  if (!pane.graph.index) results.replaceChildren(element('p', 'hint', 'Reading the names …'));
  const index = await pane.graph.loadIndex();
  if (number !== numSearches) return;
  const found = search(index, text);
  const items = found.results.map((result) => {
    const isScope = result.scopePlace !== undefined;
    const made = element('button', 'link', isScope ? `${index.scopePath(result.scopePlace)}/` : index.nodePath(result.node));
    made.type = 'button';
    made.append(element('span', 'count', isScope ? ' scope' : ` ${pane.graph.summary.ops[index.ops[result.node]]}`));
    made.addEventListener('click', async () => {
      if (isScope) await pane.goTo(index.scopePath(result.scopePlace));
      else await pane.goToNode(result.node);
      pane.tree.focus();
    });
    const item = element('li');
    item.append(made);
    return item;
  });
  const list = element('ul', 'links');
  list.append(...items);
  const shown = found.all > MAX_RESULTS ? `${count(found.all)} results, of which ${MAX_RESULTS} are listed` : plural(found.all, 'result');
  results.replaceChildren(element('p', 'hint', shown), list);
  announce(shown);
}

// ---- Keys and controls

function attachControls() {
  byId('search').addEventListener('input', timer(SEARCH_DELAY_MILLISECONDS, runSearch));
  byId('search').addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'Enter') {
      event.preventDefault();
      byId('results').querySelector('button')?.[event.key === 'Enter' ? 'click' : 'focus']();
    }
  });
  byId('results').addEventListener('keydown', (event) => {
    const all = [...byId('results').querySelectorAll('button')];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = all[all.indexOf(document.activeElement) + step];
    (next ?? byId('search')).focus();
  });
  byId('colour').addEventListener('change', () => {
    page.mode = byId('colour').value;
    applyColours();
    saveState();
  });
  const views = () => [byId('view').value, byId('compare').value].filter((value) => value !== '').map(Number);
  for (const id of ['view', 'compare']) byId(id).addEventListener('change', () => changeViews(views()));
  byId('fit').addEventListener('click', () => page.active.fit());
  byId('close-all').addEventListener('click', () => page.active.closeAll());
  byId('theme').addEventListener('click', () => {
    const { dataset } = document.documentElement;
    dataset.theme = dataset.theme === 'dark' ? 'light' : 'dark';
    applyColours();
  });
  byId('filter-clear').addEventListener('click', () => {
    for (const pane of page.panes) {
      pane.filter.clear();
      pane.redraw();
    }
    fillFilter();
    saveState();
  });
  prefersDark.addEventListener('change', () => {
    followSystem();
    applyColours();
  });
  window.addEventListener('hashchange', restoreState);
  document.addEventListener('keydown', onKey);
}

function onKey(event) {
  const isTyping = event.target.matches?.('input[type=search], select');
  if (event.key === 'Escape') {
    byId('filter').open = false;
    byId('results').hidden = true;
    if (isTyping) page.active.tree.focus();
    else page.active.select(null);
    page.active.mark([]);
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = {
    '/': () => byId('search').focus(),
    f: () => page.active.fit(),
    '+': () => page.active.zoomBy(1.3),
    '=': () => page.active.zoomBy(1.3),
    '-': () => page.active.zoomBy(1 / 1.3),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

function fillControls() {
  const option = (value, text) => Object.assign(element('option', '', text), { value });
  const views = page.contents.views.map((view, i) => [String(i), view.name]);
  byId('view').replaceChildren(...views.map(([value, text]) => option(value, text)));
  byId('compare').replaceChildren(option('', 'nothing'), ...views.map(([value, text]) => option(value, text)));
  byId('compare-control').hidden = views.length < 2;
  const modes = MODES.filter(({ isThere }) => page.contents.views.some(isThere));
  byId('colour').replaceChildren(...modes.map(({ name, label }) => option(name, label)));
}

async function restoreState() {
  const wanted = readState(location.hash);
  if (location.hash.slice(1) === writeState(page)) return;
  page.mode = wanted.mode;
  await showViews(wanted.views);
  for (const pane of page.panes) wanted.filter.forEach(([facet, texts]) => pane.filter.choose(facet, texts));
  for (const [i, pane] of page.panes.entries()) if (wanted.panes[i]) await restore(pane, wanted.panes[i]);
  fillFilter();
  page.panel.show(page.active);
}

async function start() {
  followSystem();
  const begin = performance.now();
  page.contents = await readJson('contents');
  byId('title').textContent = page.contents.title;
  fillControls();
  attachControls();
  const wanted = readState(location.hash);
  page.mode = wanted.mode;
  await showViews(wanted.views);
  if (location.hash.length > 1) await restoreState();
  page.panes[0].addEventListener('drawn', () => {
    document.documentElement.dataset.ready = String(Math.round(performance.now() - begin));
  }, { once: true });
  page.panes[0].redraw();
  document.body.classList.add('ready');
}

globalThis.flowmillView = page;
start().catch((error) => {
  byId('problem').hidden = false;
  byId('problem').textContent = `The graph cannot be shown: ${error.message}`;
  throw error;
});
