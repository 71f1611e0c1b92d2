/**
 * The tree of scopes and nodes as a list that the keyboard and screen readers can use. It shows what is open on the canvas, and both have one selection.
 */
import { byId, count, element, plural } from './format.js';

/** Items of one scope; the others are found by search. */
const MAX_ITEMS = 300;

export class Tree {
  constructor(pane) {
    this.pane = pane;
    this.element = element('div', 'tree');
    this.element.setAttribute('role', 'tree');
    this.element.setAttribute('aria-label', 'Scopes and nodes');
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('click', (event) => this.click(event));
    this.items = [];
    this.elements = new Map();
    this.current = null;
  }

  /** Makes the items of all open scopes. */
  rebuild() {
    const hadFocus = this.element.contains(document.activeElement);
    this.items = [];
    this.add(this.pane.graph.root, 1);
    this.elements = new Map();
    const made = this.items.map((item) => this.item(item));
    this.element.replaceChildren(...made);
    this.showSelection(hadFocus);
  }

  add(scope, level) {
    for (const place of this.order(scope)) {
      this.items.push({ scope, place, level });
      const opened = scope.open.get(place);
      if (opened) this.add(opened, level + 1);
    }
    if (scope.numChildren > MAX_ITEMS) this.items.push({ scope, place: null, level, more: scope.numChildren - MAX_ITEMS });
  }

  /** Scopes first, then nodes, in the order of the graph. */
  order(scope) {
    const [numScopes, shown] = [scope.numChildren - scope.numNodes, Math.min(scope.numChildren, MAX_ITEMS)];
    return Array.from({ length: shown }, (_, i) => (i < numScopes ? scope.numNodes + i : i - numScopes));
  }

  item(item) {
    const { scope, place, level, more } = item;
    const made = element('div', 'item');
    made.setAttribute('role', 'treeitem');
    made.setAttribute('aria-level', String(level));
    made.style.paddingLeft = `${0.4 + (level - 1) * 0.9}rem`;
    made.tabIndex = -1;
    made.item = item;
    if (more) {
      made.append(element('span', 'count', `and ${count(more)} more, which search finds`));
      return made;
    }
    this.elements.set(key(scope, place), made);
    if (scope.isScope(place)) {
      const sub = scope.sub(place);
      made.setAttribute('aria-expanded', String(scope.open.has(place)));
      made.append(element('span', 'twist', scope.open.has(place) ? '▾' : '▸'), element('span', 'name', sub.name), element('span', 'count', ` ${plural(sub.n, 'node')}${sub.note ? `, ${sub.note}` : ''}`));
    } else {
      made.append(element('span', 'twist'), element('span', 'name', scope.label(place)), element('span', 'count', ` ${scope.op(place)}`));
    }
    return made;
  }

  /** Shows the pane's selection, and gives it the focus if it should have it. */
  showSelection(takesFocus = this.element.contains(document.activeElement)) {
    const { selection } = this.pane;
    this.current?.setAttribute('aria-selected', 'false');
    if (this.current) this.current.tabIndex = -1;
    const found = selection && this.elements.get(key(selection.scope, selection.place));
    this.current = found ?? this.element.firstElementChild;
    if (!this.current) return;
    this.current.tabIndex = 0;
    if (found) {
      found.setAttribute('aria-selected', 'true');
      found.scrollIntoView({ block: 'nearest' });
    }
    if (takesFocus) this.current.focus({ preventScroll: true });
  }

  focus() {
    this.current?.focus();
  }

  async click(event) {
    const made = event.target.closest('.item');
    if (!made) return;
    const { item } = made;
    if (item.place === null) {
      byId('search').focus();
      return;
    }
    this.pane.select(item);
    this.pane.bringIntoView(item);
    if (event.target.classList.contains('twist') || event.detail === 2) await this.pane.toggle(item);
  }

  async key(event) {
    const made = event.target.closest('.item');
    if (!made || event.ctrlKey || event.metaKey || event.altKey) return;
    const { item } = made;
    const { pane } = this;
    const isOpen = item.place !== null && item.scope.open.has(item.place);
    const isScope = item.place !== null && item.scope.isScope(item.place);
    const move = (other) => {
      if (!other) return;
      this.current.tabIndex = -1;
      this.current = other;
      other.tabIndex = 0;
      other.focus();
      if (other.item.place !== null) {
        pane.select(other.item);
        pane.bringIntoView(other.item);
      }
    };
    const actions = {
      ArrowDown: () => move(made.nextElementSibling),
      ArrowUp: () => move(made.previousElementSibling),
      Home: () => move(this.element.firstElementChild),
      End: () => move(this.element.lastElementChild),
      ArrowRight: () => (isScope && !isOpen ? pane.open(item) : move(isOpen ? made.nextElementSibling : null)),
      ArrowLeft: () => (isOpen ? pane.close(item) : item.scope.parent && move(this.elements.get(key(item.scope.parent, item.scope.place)))),
      Enter: () => (isScope ? pane.toggle(item) : pane.select(item)),
      ' ': () => pane.select(item),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    if (pane.selection !== item && item.place !== null && (event.key === 'Enter' || event.key === 'ArrowRight')) pane.select(item);
    await action();
  }
}

function key(scope, place) {
  return `${scope.data.id} ${place}`;
}
