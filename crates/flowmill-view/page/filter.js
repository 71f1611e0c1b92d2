/** The filter by op, device, data type, pass, and a set of nodes. What does not match is dimmed. */
export const FACETS = [
  { name: 'op', label: 'Op', texts: (summary) => summary.ops, counts: 'ops_of', column: 'ops' },
  { name: 'device', label: 'Device', texts: (summary) => summary.devices, counts: 'devices', column: 'devices' },
  { name: 'dtype', label: 'Data type', texts: (summary) => summary.dtypes, counts: 'dtypes', column: 'dtypes' },
  { name: 'pass', label: 'Pass', texts: (summary) => ['', ...summary.passes], counts: 'passes', column: 'passes' },
];

/** The texts of a facet in any of these graphs, the most frequent first, with the number of nodes in the graph that has most. */
export function greatestCounts(facet, summaries) {
  const counts = new Map();
  for (const summary of summaries) {
    const texts = facet.texts(summary);
    for (const [value, n] of summary.root[facet.counts]) if (texts[value] !== '') counts.set(texts[value], Math.max(n, counts.get(texts[value]) ?? 0));
  }
  return new Map([...counts].sort((a, b) => b[1] - a[1]));
}

export class Filter {
  constructor() {
    /** The texts that are chosen, by facet. */
    this.chosen = new Map();
    /** Nodes by their numbers, or `null` for all. */
    this.nodes = null;
    this.graph = null;
  }

  setGraph(graph) {
    this.graph = graph;
    this.nodes = null;
    this.number();
  }

  /** Chooses the nodes that have one of these texts. */
  choose(facet, texts) {
    if (texts.length > 0) this.chosen.set(facet, new Set(texts));
    else this.chosen.delete(facet);
    this.number();
  }

  clear() {
    this.chosen.clear();
    this.nodes = null;
    this.number();
  }

  /** Looks up the numbers of the texts in the graph. */
  number() {
    this.sets = FACETS.filter(({ name }) => this.chosen.has(name)).map((facet) => {
      const texts = this.graph ? facet.texts(this.graph.summary) : [];
      return { facet, numbers: new Set(texts.flatMap((text, i) => (this.chosen.get(facet.name).has(text) ? [i] : []))) };
    });
  }

  get isActive() {
    return this.sets?.length > 0 || this.nodes !== null;
  }

  matches(scope, place) {
    if (scope.isScope(place)) {
      const sub = scope.sub(place);
      const inSet = this.nodes === null || this.nodes.hasAny(sub.first, sub.first + sub.n);
      return inSet && this.sets.every(({ facet, numbers }) => sub[facet.counts].some(([value]) => numbers.has(value)));
    }
    if (this.nodes && !this.nodes.has(scope.data.first + place)) return false;
    return this.sets.every(({ facet, numbers }) => numbers.has(scope.data[facet.column][place]));
  }
}

/** A set of node numbers that answers quickly if a range has one of them. */
export class NodeSet {
  constructor(size, members) {
    this.sums = new Uint32Array(size + 1);
    for (const node of members) this.sums[node + 1] = 1;
    this.size = members.length;
    for (let i = 0; i < size; i += 1) this.sums[i + 1] += this.sums[i];
  }

  has(node) {
    return this.sums[node + 1] > this.sums[node];
  }

  hasAny(start, end) {
    return this.sums[end] > this.sums[start];
  }
}
