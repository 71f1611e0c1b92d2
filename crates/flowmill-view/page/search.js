/** Search over names and ops, paths between nodes, and what a node needs or feeds. */

/** Results that are listed; the number of all is shown. */
export const MAX_RESULTS = 200;

/**
 * Finds nodes and scopes whose names contain a text; case does not count. `op:Conv` finds nodes by op. Returns the results and their number: `{ node }` by number or
 * `{ scopePlace }` by the place in the index.
 */
export function search(index, text) {
  const query = text.trim().toLowerCase();
  const results = [];
  let all = 0;
  const add = (result) => {
    all += 1;
    if (results.length < MAX_RESULTS) results.push(result);
  };
  if (!query) return { results, all };
  if (query.startsWith('op:')) {
    const wanted = query.slice(3);
    const matches = index.graph.summary.ops.map((op) => op.toLowerCase().includes(wanted));
    index.ops.forEach((op, node) => matches[op] && add({ node }));
    return { results, all };
  }
  const hasSlash = query.includes('/');
  for (let place = 0; place < index.preorder.length; place += 1) {
    const path = index.scopePath(place).toLowerCase();
    const own = index.scopeNames[place].toLowerCase();
    if (place > 0 && (hasSlash ? path.includes(query) && path.lastIndexOf(query) + query.length > path.length - own.length : own.includes(query))) add({ scopePlace: place });
    const [first, end] = [index.firsts[place], index.firsts[place] + index.counts[place]];
    for (let node = first; node < end; node += 1) {
      const name = index.names[node].toLowerCase();
      if (hasSlash ? `${path}/${name}`.indexOf(query, Math.max(0, path.length - query.length)) >= 0 : name.includes(query)) add({ node });
    }
  }
  return { results, all };
}

/** Returns the nodes of a shortest path along the edges, or `null`. */
export function shortestPath(index, from, to) {
  const before = new Int32Array(index.names.length).fill(-1);
  before[from] = from;
  const queue = [from];
  for (let i = 0; i < queue.length && before[to] < 0; i += 1) {
    for (const next of index.consumers(queue[i])) {
      if (before[next] < 0) {
        before[next] = queue[i];
        queue.push(next);
      }
    }
  }
  if (before[to] < 0) return null;
  const path = [to];
  while (path.at(-1) !== from) path.push(before[path.at(-1)]);
  return path.reverse();
}

/** Returns all nodes that a node needs (`producers`) or that need it (`consumers`), itself included, up to a number of edges away. */
export function reached(index, node, direction, distance = Infinity) {
  const seen = new Uint8Array(index.names.length);
  seen[node] = 1;
  const nodes = [node];
  let [start, steps] = [0, 0];
  while (start < nodes.length && steps < distance) {
    const end = nodes.length;
    for (; start < end; start += 1) {
      for (const next of index[direction](nodes[start])) {
        if (!seen[next]) {
          seen[next] = 1;
          nodes.push(next);
        }
      }
    }
    steps += 1;
  }
  return nodes;
}
