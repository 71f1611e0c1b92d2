/** Colours of nodes by one of their properties, with a legend. */
import { FACETS, greatestCounts } from './filter.js';
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

/** The colours of one graph by one property. Colours have the same meaning in all the graphs of `summaries`, which are side by side. */
export class Colours {
  constructor(mode, summary, theme, summaries) {
    Object.assign(this, { mode, theme });
    const most = (get) => Math.max(1, ...summaries.map(get));
    this.maxTime = most((one) => one.max_nanoseconds);
    this.maxBytes = most((one) => one.max_bytes);
    this.allTime = most((one) => one.totals.t);
    this.allBytes = most((one) => one.totals.b);
    const facet = FACETS.find(({ name }) => name === mode);
    if (!facet) return;
    this.texts = [...greatestCounts(facet, summaries).keys()];
    const ranks = new Map(this.texts.map((text, rank) => [text, rank]));
    this.rank = new Map(facet.texts(summary).flatMap((text, value) => (ranks.has(text) ? [[value, ranks.get(text)]] : [])));
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
      case 'time': return this.heat(data.times[place] ?? 0, this.maxTime);
      case 'memory': return this.heat(data.bytes[place] ?? 0, this.maxBytes);
      default: return this.ofKind(data.roles[place]);
    }
  }

  /** The shares of colours in a closed scope: colour and part of all nodes. */
  scope(sub) {
    if (this.mode === 'time') return [[this.heat(sub.t, this.allTime), 1]];
    if (this.mode === 'memory') return [[this.heat(sub.b, this.allBytes), 1]];
    const counts = { op: sub.ops_of, device: sub.devices, dtype: sub.dtypes, pass: sub.passes }[this.mode];
    if (!counts) return [];
    const all = counts.reduce((sum, [, n]) => sum + n, 0);
    return counts.map(([value, n]) => [this.ofRank(value), n / all]);
  }

  /** The meanings of colours: colour and text. */
  legend() {
    if (this.mode === 'time' || this.mode === 'memory') {
      const text = this.mode === 'time' ? timeText(this.maxTime) : bytesText(this.maxBytes);
      return [[this.theme.plain, 'not measured'], [this.heat(0.01, 1), 'little'], [this.heat(1, 1), text]];
    }
    if (this.mode === 'kind') {
      const kinds = [...new Set(KINDS)].filter((kind) => KIND_COLOURS[kind] >= 0);
      return kinds.map((kind) => [this.theme.colours[KIND_COLOURS[kind]], kind]);
    }
    const entries = this.texts.slice(0, NUM_COLOURS).map((text, rank) => [this.theme.colours[rank], text]);
    if (this.texts.length > NUM_COLOURS) entries.push([this.theme.other, `${this.texts.length - NUM_COLOURS} others`]);
    return entries.length > 0 ? entries : [[this.theme.plain, { device: 'no device is requested', pass: 'no pass changed a node' }[this.mode] ?? 'none']];
  }
}
