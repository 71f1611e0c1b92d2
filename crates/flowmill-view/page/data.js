/** The data of the page, which `view_data.rs` writes. Blocks are unpacked when they are first needed. */
import { byId } from './format.js';

/** Ends of edges at the border of a scope, and the number of the first bend in rows. */
export const INPUTS = -1;
export const OUTPUTS = -2;
export const FIRST_BEND = -3;

/** Returns true for the label of a node that has the name of its scope. */
export const isOwn = (label) => label.startsWith('(') && label.endsWith(')');

/** Kinds of edges. */
export const DATA = 0;
export const REFERENCE = 1;
export const CONTROL = 2;

/** Kinds of scopes. */
export const FUNCTION = 1;
export const SERIES = 2;

async function unpack(name) {
  const block = byId(name);
  const text = atob(block.textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

export async function readJson(name) {
  return JSON.parse(new TextDecoder().decode(await unpack(name)));
}

async function readNumbers(name) {
  return new Uint32Array(await unpack(name));
}

/** A scope whose content is unpacked. */
export class Scope {
  constructor(graph, data, info, parent, place) {
    Object.assign(this, { graph, data, info, parent, place });
    this.numNodes = data.names.length;
    this.numChildren = this.numNodes + data.scopes.length;
    /** The open scopes among the children, by their places. */
    this.open = new Map();
    this.layout = null;
    this.neighbours = null;
  }

  isScope(place) {
    return place >= this.numNodes;
  }

  /** The description of a child that is a scope. */
  sub(place) {
    return this.data.scopes[place - this.numNodes];
  }

  label(place) {
    return this.isScope(place) ? this.sub(place).name : this.data.names[place];
  }

  /** The names of the scopes around the children, joined by slashes. Series have no names of their own. */
  path() {
    if (!this.parent) return '';
    const outer = this.parent.path();
    if (this.info.kind === SERIES) return outer;
    return outer ? `${outer}/${this.info.name}` : this.info.name;
  }

  /** The name of a child within the page: that of the graph, except that a node with the name of its scope is in parentheses. */
  address(place) {
    const outer = this.path();
    return outer ? `${outer}/${this.label(place)}` : this.label(place);
  }

  /** The name of a child in the graph. */
  name(place) {
    const label = this.label(place);
    return !this.isScope(place) && isOwn(label) ? this.path() : this.address(place);
  }

  op(place) {
    return this.graph.summary.ops[this.data.ops[place]];
  }

  /** The numbers of the edges of each child. */
  edgesOf(place) {
    if (!this.neighbours) {
      this.neighbours = new Map();
      const note = (end, edge) => {
        if (!this.neighbours.has(end)) this.neighbours.set(end, []);
        this.neighbours.get(end).push(edge);
      };
      this.data.src.forEach((src, edge) => {
        note(src, edge);
        note(this.data.dst[edge], edge);
      });
    }
    return this.neighbours.get(place) ?? [];
  }
}

/** One graph of the page. */
export class Graph {
  constructor(number, summary) {
    this.number = number;
    this.summary = summary;
    this.chunks = new Map();
    this.details = new Map();
    this.root = null;
    this.index = null;
  }

  static async load(number, summary) {
    const graph = new Graph(number, summary);
    graph.root = await graph.unpackScope(summary.root, null, 0);
    return graph;
  }

  chunk(number) {
    if (!this.chunks.has(number)) {
      const load = async () => {
        const scopes = await readJson(`v${this.number}c${number}`);
        let first = 0;
        for (const scope of scopes) {
          scope.firstInChunk = first;
          first += scope.names.length;
        }
        return new Map(scopes.map((scope) => [scope.id, scope]));
      };
      this.chunks.set(number, load());
    }
    return this.chunks.get(number);
  }

  async unpackScope(info, parent, place) {
    const scopes = await this.chunk(info.chunk);
    return new Scope(this, scopes.get(info.id), info, parent, place);
  }

  /** Opens a scope among the children of another. */
  async open(scope, place) {
    if (!scope.isScope(place)) return null;
    if (!scope.open.has(place)) {
      const opened = await this.unpackScope(scope.sub(place), scope, place);
      if (!scope.open.has(place)) scope.open.set(place, opened);
      markChanged(scope.open.get(place));
    }
    return scope.open.get(place);
  }

  close(scope, place) {
    scope.open.delete(place);
    markChanged(scope);
  }

  /** Returns the details of a node. */
  async detailsOf(scope, place) {
    const { chunk } = scope.info;
    if (!this.details.has(chunk)) this.details.set(chunk, readJson(`v${this.number}d${chunk}`));
    return (await this.details.get(chunk))[scope.data.firstInChunk + place];
  }

  /** Finds a child by its address, and opens the scopes around it. Returns its scope and place, or `null`. With `isNode`, a scope is no answer. */
  async find(address, isNode = false, scope = this.root) {
    const outer = scope.path();
    const rest = outer ? address.slice(outer.length + 1) : address;
    const node = scope.data.names.indexOf(rest);
    if (node >= 0) return { scope, place: node };
    for (let place = scope.numNodes; place < scope.numChildren; place += 1) {
      const { name, kind } = scope.sub(place);
      if (name === rest && !isNode) return { scope, place };
      if (kind !== SERIES && name !== rest && !rest.startsWith(`${name}/`)) continue;
      const inner = scope.open.get(place) ?? (await this.unpackScope(scope.sub(place), scope, place));
      const own = `(${name.split('/').at(-1)})`;
      const found = await this.find(name === rest ? `${address}/${own}` : address, isNode, inner);
      if (found) {
        if (!scope.open.has(place)) {
          scope.open.set(place, inner);
          markChanged(inner);
        }
        return found;
      }
    }
    return null;
  }

  /** Loads the names, the tree and the edges of all nodes. */
  loadIndex() {
    this.index ??= Promise.all(['n', 's', 'o', 'e'].map((kind) => (kind === 'n' ? readJson : readNumbers)(`v${this.number}${kind}`)))
      .then(([names, scopes, ops, edges]) => new Index(this, names, scopes, ops, edges));
    return this.index;
  }
}

/** Forgets the layout of a scope and of those around it. */
export function markChanged(scope) {
  for (let one = scope; one; one = one.parent) one.layout = null;
}

/** The names, the tree and the edges of all nodes. */
export class Index {
  constructor(graph, names, scopes, ops, edges) {
    this.graph = graph;
    this.names = names.nodes === '' && graph.summary.num_nodes === 0 ? [] : names.nodes.split('\n');
    this.scopeNames = names.scopes;
    this.preorder = names.preorder;
    this.ops = ops;
    /** The place of each scope in `preorder`. */
    this.places = new Map(names.preorder.map((id, place) => [id, place]));
    const column = (k) => Uint32Array.from({ length: names.preorder.length }, (_, i) => scopes[i * 5 + k]);
    [this.parents, this.firsts, this.counts, this.chunks, this.isSeries] = [0, 1, 2, 3, 4].map(column);
    this.edges = edges;
    this.paths = new Array(names.preorder.length);
    this.makeAdjacency();
  }

  makeAdjacency() {
    const n = this.names.length;
    const starts = (at) => {
      const counts = new Uint32Array(n + 1);
      for (let i = at; i < this.edges.length; i += 2) counts[this.edges[i] + 1] += 1;
      for (let i = 0; i < n; i += 1) counts[i + 1] += counts[i];
      return counts;
    };
    const fill = (at, begin) => {
      const [next, ends] = [begin.slice(), new Uint32Array(this.edges.length / 2)];
      for (let i = 0; i < this.edges.length; i += 2) {
        const node = this.edges[i + at];
        ends[next[node]] = this.edges[i + 1 - at];
        next[node] += 1;
      }
      return ends;
    };
    [this.outStarts, this.inStarts] = [starts(0), starts(1)];
    [this.outEnds, this.inEnds] = [fill(0, this.outStarts), fill(1, this.inStarts)];
  }

  consumers(node) {
    return this.outEnds.subarray(this.outStarts[node], this.outStarts[node + 1]);
  }

  producers(node) {
    return this.inEnds.subarray(this.inStarts[node], this.inStarts[node + 1]);
  }

  /** The place in `preorder` of the scope that a node is in. */
  scopeOf(node) {
    let [low, high] = [0, this.firsts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.firsts[middle] <= node) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The name of a scope by its place in `preorder`. */
  scopePath(place) {
    if (this.paths[place] === undefined) {
      if (place === 0) {
        this.paths[0] = '';
      } else {
        const outer = this.scopePath(this.places.get(this.parents[place]));
        const own = this.scopeNames[place];
        this.paths[place] = this.isSeries[place] ? outer : outer ? `${outer}/${own}` : own;
      }
    }
    return this.paths[place];
  }

  nodePath(node) {
    const outer = this.scopePath(this.scopeOf(node));
    const name = this.names[node];
    if (isOwn(name)) return outer;
    return outer ? `${outer}/${name}` : name;
  }

  /** The scopes around a node from the outside in, by their places in `preorder`. */
  chain(node) {
    const chain = [];
    for (let place = this.scopeOf(node); place !== 0; place = this.places.get(this.parents[place])) chain.push(place);
    return chain.reverse();
  }

  /** Returns the open scope and the place in it where a node is drawn: the node itself, or the closed scope that it is in. */
  visible(node) {
    let scope = this.graph.root;
    for (const place of this.chain(node)) {
      const id = this.preorder[place];
      const child = scope.numNodes + scope.data.scopes.findIndex((sub) => sub.id === id);
      if (!scope.open.has(child)) return { scope, place: child };
      scope = scope.open.get(child);
    }
    return { scope, place: node - scope.data.first };
  }

  /** Opens the scopes around a node. Returns the scope that it is in and its place. */
  async reveal(node) {
    let scope = this.graph.root;
    for (const place of this.chain(node)) {
      const id = this.preorder[place];
      scope = await this.graph.open(scope, scope.numNodes + scope.data.scopes.findIndex((sub) => sub.id === id));
    }
    return { scope, place: node - scope.data.first };
  }
}
