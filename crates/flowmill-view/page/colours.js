/** Colours of nodes by one of their properties, with a legend. */
import { bytesText, timeText } from './format.js';

/** What a node can be coloured by: the name in links, the label, and whether the graph has it. */
export const MODES = [
  { name: 'kind', label: 'kind', isThere: () => true },
  { name: 'op', label: 'op', isThere: () => true },
  { name: 'device', label: 'device', isThere: () => true },
  { name: 'dtype', label: 'data type', isThere: () => true },
  { name: 'time', label: 'time', isThere: (summary) => summary.max_nanoseconds > 0 },
  { name: 'memory', label: 'memory', isThere: (summary) => summary.max_bytes > 0 },
  { name: 'pass', label: 'pass', isThere: (summary) => summary.passes.length > 0 },
];

/** The kinds of nodes, by the number of their role. */
const KINDS = ['operation', 'constant', 'input', 'result', 'no operation', 'branch', 'branch', 'loop', 'loop', 'loop', 'loop', 'function call', 'branch', 'loop', 'send or receive', 'send or receive', 'state or side effect'];
const KIND_COLOURS = { operation: -1, constant: 7, input: 2, result: 0, 'no operation': -1, branch: 4, loop: 3, 'function call': 1, 'send or receive': 8, 'state or side effect': 6 };

const NUM_COLOURS = 10;

/** The colours of the theme, read from the style sheet. */
export class Theme {
  constructor() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const name of ['back', 'card', 'line', 'text', 'faint', 'link', 'scope', 'plain', 'edge', 'control', 'reference', 'label', 'select', 'hit', 'cold', 'hot']) this[name] = get(name);
    this.colours = Array.from({ length: NUM_COLOURS }, (_, i) => get(`c${i}`));
    this.other = get('c-other');
  }
}

function mix(a, b, part) {
  const parse = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  const [from, to] = [parse(a), parse(b)];
  return `rgb(${from.map((v, i) => Math.round(v + (to[i] - v) * part)).join(' ')})`;
}

/** The colours of one graph by one property. */
export class Colours {
  constructor(mode, summary, theme) {
    Object.assign(this, { mode, summary, theme });
    if (mode === 'op') this.rank = ranked(summary.root.ops_of);
    if (mode === 'device') this.rank = ranked(summary.root.devices, (k) => summary.devices[k] !== '');
    if (mode === 'dtype') this.rank = ranked(summary.root.dtypes, (k) => summary.dtypes[k] !== '');
    if (mode === 'pass') this.rank = ranked(summary.root.passes, (k) => k !== 0);
  }

  ofRank(value) {
    const rank = this.rank.get(value);
    if (rank === undefined) return this.theme.plain;
    return rank < NUM_COLOURS ? this.theme.colours[rank] : this.theme.other;
  }

  heat(value, most) {
    if (!(value > 0)) return this.theme.plain;
    return mix(this.theme.cold, this.theme.hot, Math.sqrt(Math.min(1, value / most)));
  }

  ofKind(role) {
    const colour = KIND_COLOURS[KINDS[role]];
    return colour < 0 ? this.theme.plain : this.theme.colours[colour];
  }

  node(scope, place) {
    const { data } = scope;
    switch (this.mode) {
      case 'op': return this.ofRank(data.ops[place]);
      case 'device': return this.ofRank(data.devices[place]);
      case 'dtype': return this.ofRank(data.dtypes[place]);
      case 'pass': return this.ofRank(data.passes[place]);
      case 'time': return this.heat(data.times[place] ?? 0, this.summary.max_nanoseconds);
      case 'memory': return this.heat(data.bytes[place] ?? 0, this.summary.max_bytes);
      default: return this.ofKind(data.roles[place]);
    }
  }

  /** The shares of colours in a closed scope: colour and part of all nodes. */
  scope(sub) {
    if (this.mode === 'time') return [[this.heat(sub.t, Math.max(1, this.summary.totals.t)), 1]];
    if (this.mode === 'memory') return [[this.heat(sub.b, Math.max(1, this.summary.totals.b)), 1]];
    const counts = { op: sub.ops_of, device: sub.devices, dtype: sub.dtypes, pass: sub.passes }[this.mode];
    if (!counts) return [];
    const all = counts.reduce((sum, [, n]) => sum + n, 0);
    return counts.map(([value, n]) => [this.ofRank(value), n / all]);
  }

  /** The meanings of colours: colour and text. */
  legend() {
    const { summary } = this;
    if (this.mode === 'time' || this.mode === 'memory') {
      const text = this.mode === 'time' ? timeText(summary.max_nanoseconds) : bytesText(summary.max_bytes);
      return [[this.theme.plain, 'not measured'], [this.heat(0.01, 1), 'little'], [this.heat(1, 1), text]];
    }
    if (this.mode === 'kind') {
      const kinds = [...new Set(KINDS)].filter((kind) => KIND_COLOURS[kind] >= 0);
      return kinds.map((kind) => [this.theme.colours[KIND_COLOURS[kind]], kind]);
    }
    const texts = { op: summary.ops, device: summary.devices, dtype: summary.dtypes, pass: ['', ...summary.passes] }[this.mode];
    const entries = [...this.rank].filter(([, rank]) => rank < NUM_COLOURS).map(([value, rank]) => [this.theme.colours[rank], texts[value]]);
    if (this.rank.size > NUM_COLOURS) entries.push([this.theme.other, `${this.rank.size - NUM_COLOURS} others`]);
    return entries.length > 0 ? entries : [[this.theme.plain, { device: 'no device is requested', pass: 'no pass changed a node' }[this.mode] ?? 'none']];
  }
}

function ranked(counts, isCounted = () => true) {
  return new Map(counts.filter(([value]) => isCounted(value)).map(([value], rank) => [value, rank]));
}
