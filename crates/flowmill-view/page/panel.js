/** The panel with the details of what is selected. */
import { DATA, CONTROL, FUNCTION, INPUTS, SERIES } from './data.js';
import { bytesText, count, element, operationsText, plural, timeText } from './format.js';
import { NodeSet } from './filter.js';
import { reached, shortestPath } from './search.js';

const CHANGES = ['', 'made by', 'changed by', 'removed by'];
const MAX_OPS = 12;

export class Panel {
  constructor(parent) {
    this.element = parent;
    /** The node at which a path begins. */
    this.start = null;
  }

  /** Shows the selection of a pane, or the graph. */
  async show(pane) {
    const at = pane.selection;
    this.shown = at;
    if (!at) this.fill(this.graph(pane));
    else if (at.scope.isScope(at.place)) this.fill(this.scope(pane, at));
    else this.fill(await this.node(pane, at), at);
  }

  fill(parts, at = this.shown) {
    if (at === this.shown) this.element.replaceChildren(...parts.filter(Boolean));
  }

  graph(pane) {
    const { summary } = pane.graph;
    const { totals } = summary;
    const facts = [['Nodes', count(summary.num_nodes)], ['Edges', count(summary.num_edges)], ['Scopes', count(summary.num_scopes - 1)], ...costs(totals)];
    if (summary.skipped_functions > 0) facts.push(['Functions not drawn', count(summary.skipped_functions)]);
    return [
      element('h2', '', summary.name),
      summary.about && element('p', 'hint', summary.about),
      list(facts),
      summary.num_nodes === 0 && element('p', 'hint', 'The graph has no nodes.'),
      summary.pass_report.length > 0 && section('Passes', this.passes(summary)),
      summary.num_nodes > 0 && section('Ops', this.ops(pane, summary.root.ops_of)),
      pane.filter.isActive && section('Filter', button('Clear the filter', () => clearFilter(pane))),
    ];
  }

  /** The passes that changed something, in their order, with the number of changes. */
  passes({ pass_report: report }) {
    const rows = report.filter(([, n]) => n > 0).map(([name, n]) => [name, plural(n, 'change')]);
    if (rows.length < report.length) rows.push([`${plural(report.length - rows.length, 'other run')} changed nothing`, '']);
    return list(rows);
  }

  ops(pane, counts) {
    const rows = counts.slice(0, MAX_OPS).map(([op, n]) => [pane.graph.summary.ops[op], count(n)]);
    if (counts.length > MAX_OPS) rows.push([`${counts.length - MAX_OPS} other ops`, '']);
    return list(rows);
  }

  scope(pane, at) {
    const sub = at.scope.sub(at.place);
    const kind = sub.kind === FUNCTION ? 'Function' : sub.kind === SERIES ? 'Series of similar siblings' : 'Name scope';
    const isOpen = at.scope.open.has(at.place);
    const { devices } = pane.graph.summary;
    const named = sub.devices.filter(([device]) => devices[device]);
    return [
      element('h2', '', at.scope.address(at.place)),
      element('p', 'hint', sub.note ? `${kind}: ${sub.note}` : kind),
      buttons([[isOpen ? 'Close' : 'Open', () => pane.toggle(at)], ['Zoom to it', () => pane.fitRectangle(pane.rectangle(at))]]),
      list([['Nodes', count(sub.n)], ...costs(sub)]),
      section('Ops', this.ops(pane, sub.ops_of)),
      named.length > 0 && section('Devices', list(named.map(([device, n]) => [devices[device], count(n)]))),
      ...this.edges(pane, at),
    ];
  }

  async node(pane, at) {
    const { scope, place } = at;
    const { data } = scope;
    const { summary } = pane.graph;
    const details = await pane.graph.detailsOf(scope, place);
    const device = summary.devices[data.devices[place]];
    const facts = [['Op', scope.op(place)], device && ['Device', device]];
    if (data.times[place]) facts.push(['Time', timeText(data.times[place])]);
    if (data.bytes[place]) facts.push(['Memory', bytesText(data.bytes[place])]);
    if (data.operations[place]) facts.push(['Work, estimated', operationsText(data.operations[place])]);
    if (data.passes[place]) facts.push(['Pass', `${CHANGES[data.changes[place]]} ${summary.passes[data.passes[place] - 1]}`]);
    const prefix = functionOf(scope);
    const nodeLink = (name) => {
      const isControl = name.startsWith('^');
      const bare = isControl ? name.slice(1) : name.slice(0, name.lastIndexOf(':'));
      return link(name, () => pane.goTo(prefix + bare, true));
    };
    return [
      element('h2', '', scope.name(place)),
      list(facts.filter(Boolean)),
      this.actions(pane, at),
      details.f && section('Functions', links(details.f.map((name) => link(name, () => pane.goTo(`functions:/${name}`))))),
      details.i && section('Inputs', links(details.i.map(nodeLink))),
      details.o && section('Outputs', list(details.o.map((text, i) => [`:${i}`, text]))),
      await this.consumers(pane, at),
      details.a && section('Attributes', list(details.a)),
      details.m && section('Made from', list(details.m.map((name) => [name, '']))),
    ];
  }

  actions(pane, at) {
    const number = at.scope.data.first + at.place;
    const dim = async (direction, distance) => {
      const index = await pane.graph.loadIndex();
      const sets = (Array.isArray(direction) ? direction : [direction]).map((one) => reached(index, number, one, distance));
      pane.filter.nodes = new NodeSet(pane.graph.summary.num_nodes, [...new Set(sets.flat())]);
      pane.redraw();
      pane.dispatchEvent(new Event('filtered'));
    };
    const made = buttons([
      ['What it needs', () => dim('producers')],
      ['What needs it', () => dim('consumers')],
      ['Neighbours', () => dim(['producers', 'consumers'], 2)],
      ['Path from here', () => {
        this.start = { pane, number, name: at.scope.name(at.place) };
        this.show(pane);
      }],
      this.start && this.start.pane === pane && this.start.number !== number && [`Path from ${this.start.name.split('/').at(-1)}`, () => this.showPath(pane, number)],
      pane.filter.isActive && ['Clear the filter', () => clearFilter(pane)],
    ].filter(Boolean));
    if (this.start?.pane === pane && this.start.number === number) made.append(element('p', 'hint', 'Select another node to see a path to it.'));
    return made;
  }

  async showPath(pane, to) {
    const index = await pane.graph.loadIndex();
    const from = this.start.number;
    const forward = shortestPath(index, from, to);
    const path = forward ?? shortestPath(index, to, from)?.reverse();
    const at = pane.selection;
    if (!path) {
      this.fill([element('h2', '', 'No path'), element('p', 'hint', 'Neither node can be reached from the other.')], at);
      return;
    }
    await pane.mark(path);
    const between = element('p', 'hint', forward ? 'A shortest path, along the edges:' : 'A shortest path, against the edges:');
    this.fill([
      element('h2', '', `Path of ${plural(path.length, 'node')}`),
      between,
      links(path.map((node) => link(index.nodePath(node), () => pane.goToNode(node)))),
      buttons([['Remove the marks', () => {
        this.start = null;
        pane.mark([]);
        this.show(pane);
      }]]),
    ], at);
  }

  async consumers(pane, at) {
    if (pane.graph.summary.num_nodes > 300000 && !pane.graph.index) return null;
    const index = await pane.graph.loadIndex();
    const all = index.consumers(at.scope.data.first + at.place);
    if (all.length === 0) return null;
    const shown = [...all.subarray(0, 50)];
    const made = links(shown.map((node) => link(index.nodePath(node), () => pane.goToNode(node))));
    if (all.length > shown.length) made.append(element('li', 'hint', `and ${count(all.length - shown.length)} more`));
    return section('Consumers', made);
  }

  /** The edges of a scope in the layout around it. */
  edges(pane, at) {
    const { scope, place } = at;
    const { data } = scope;
    const describe = (other, edge) => {
      const kind = data.kinds[edge] === CONTROL ? 'control' : data.kinds[edge] === DATA ? data.labels[edge] : `reference ${data.labels[edge]}`;
      const text = other < 0 ? (other === INPUTS ? 'from outside' : 'to the outside') : scope.label(other);
      const made = other < 0 ? element('span', '', text) : link(text, () => {
        pane.select({ scope, place: other });
        pane.bringIntoView({ scope, place: other });
      });
      const item = element('li');
      item.append(made, ` ${kind}`);
      return item;
    };
    const groups = [['Inputs', 'dst', 'src'], ['Outputs', 'src', 'dst']].map(([title, own, other]) => {
      const found = scope.edgesOf(place).filter((edge) => data[own][edge] === place).slice(0, 50);
      const made = element('ul', 'links');
      made.append(...found.map((edge) => describe(data[other][edge], edge)));
      return found.length > 0 && section(title, made);
    });
    return groups;
  }
}

function clearFilter(pane) {
  pane.filter.clear();
  pane.redraw();
  pane.dispatchEvent(new Event('filtered'));
}

/** The address of the function that a scope is in, with a slash at the end; empty for the graph. */
function functionOf(scope) {
  for (let one = scope; one.parent; one = one.parent) if (one.info.kind === FUNCTION) return `${one.path()}/`;
  return '';
}

function costs(totals) {
  const facts = [];
  if (totals.t > 0) facts.push(['Time', timeText(totals.t)]);
  if (totals.b > 0) facts.push(['Memory', bytesText(totals.b)]);
  if (totals.ops > 0) facts.push(['Work, estimated', operationsText(totals.ops)]);
  if (totals.res > 0) facts.push(['Weights', bytesText(totals.res)]);
  return facts;
}

function list(rows) {
  const made = element('dl');
  for (const [name, text] of rows) made.append(element('dt', '', name), element('dd', '', text));
  return made;
}

function section(title, content) {
  const made = element('section');
  made.append(element('h3', '', title), content);
  return made;
}

function button(text, action) {
  const made = element('button', 'quiet', text);
  made.type = 'button';
  made.addEventListener('click', action);
  return made;
}

function buttons(entries) {
  const made = element('div', 'buttons');
  made.append(...entries.map(([text, action]) => button(text, action)));
  return made;
}

function link(text, action) {
  const made = button(text, action);
  made.className = 'link';
  return made;
}

function links(made) {
  const all = element('ul', 'links');
  for (const one of made) {
    const item = element('li');
    item.append(one);
    all.append(item);
  }
  return all;
}
