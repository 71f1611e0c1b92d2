// Shows /flowmill/status, and sends requests of the forms. Texts from the server are only ever set as text, never as markup.
'use strict';

/** Rates and latencies are those of this time. */
const WINDOW_SECONDS = 10;

const REFRESH_MILLISECONDS = 1000;
const STATUS_TIMEOUT_MILLISECONDS = 10000;

/** Inputs with more elements are not filled with zeros. */
const MAX_ZEROS = 200000;

/** Longer answers are cut. */
const MAX_ANSWER_LENGTH = 100000;

/** Longer lists of zeros go over several lines. */
const LINE_LENGTH = 72;

/** The types that the REST API reads, with their zero. */
const ZEROS = {
  float32: '0.0', float64: '0.0', int8: '0', int16: '0', int32: '0', int64: '0', uint8: '0', uint32: '0', uint64: '0', bool: 'false', string: '""',
};

const PARTS = ['decode', 'queue', 'compute', 'encode', 'other'];

const byId = (id) => document.getElementById(id);

// ---- Elements

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Sets a text only if it changes, so that a selection by the reader stays. */
function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Shows `text` in `target`, or hides `target` if there is none. */
function showText(target, text) {
  setText(target, text ?? '');
  target.hidden = !text;
}

/** Makes the children of `parent` those of `items`; the child of an item with the same key stays, with what the reader wrote into it. */
function reconcile(parent, items, keyOf, create, update) {
  const keys = new Set(items.map(keyOf));
  const children = new Map();
  for (const child of [...parent.children]) {
    if (keys.has(child.dataset.key)) children.set(child.dataset.key, child);
    else child.remove();
  }
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let child = children.get(key);
    if (!child) {
      child = create(item);
      child.dataset.key = key;
    }
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
    update(child, item);
  }
}

/** Makes the rows of a table's body; `cells` of an item are texts or elements, the cell at `header` names the row. */
function fillRows(body, items, keyOf, cells, header) {
  const create = (item) => {
    const row = element('tr');
    cells(item).forEach((_, i) => {
      const cell = element(i === header ? 'th' : 'td', i === header ? '' : 'number');
      if (i === header) cell.scope = 'row';
      row.append(cell);
    });
    return row;
  };
  const update = (row, item) => cells(item).forEach((content, i) => {
    const cell = row.children[i];
    if (typeof content === 'string') setText(cell, content);
    else if (!cell.firstChild || !cell.firstChild.isEqualNode(content)) cell.replaceChildren(content);
  });
  reconcile(body, items, keyOf, create, update);
}

// ---- Numbers

const number = (value) => (value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3))));

function time(seconds) {
  if (seconds < 0.001) return `${number(seconds * 1e6)} µs`;
  return seconds < 1 ? `${number(seconds * 1e3)} ms` : `${number(seconds)} s`;
}

function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; count >= 1024 && unit < units.length - 1; unit += 1) count /= 1024;
  return `${number(count)} ${units[unit]}`;
}

function span(seconds) {
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first < 0) return '0 s';
  return units.slice(first, first + 2).map(([unit, size], i) => {
    const count = Math.floor((i === 0 ? seconds : seconds % units[first][1]) / size);
    return `${count} ${unit}`;
  }).join(' ');
}

const shape = (dims) => (dims ? `[${dims.map((size) => (size < 0 ? '?' : size)).join(', ')}]` : 'any');

const problemText = (error) => (error ? `${error.code}: ${error.message}` : '');

// ---- Tokens

const GROUPS = { observation: 'to show its status', inference: 'for requests to models' };

const tokenKey = (group) => `flowmill-token-${group}`;

/** Returns the headers with the token of a group, or of the other one if the reader gave only that. */
function authorization(group) {
  const groups = [group, ...Object.keys(GROUPS)];
  const token = groups.map((name) => sessionStorage.getItem(tokenKey(name))).find((value) => value);
  return token ? { authorization: `Bearer ${token}` } : {};
}

function askForToken(group) {
  const had = 'authorization' in authorization(group);
  setText(byId('token-reason'), `${had ? 'The server does not take this token' : 'The server asks for a token'} ${GROUPS[group]} (group ${group}).`);
  const form = byId('token-form');
  form.dataset.group = group;
  if (form.hidden) {
    form.hidden = false;
    byId('token').focus();
  }
}

byId('token').addEventListener('input', (event) => event.target.setCustomValidity(''));

byId('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const field = byId('token');
  const token = field.value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    field.setCustomValidity('A token has visible ASCII characters and no blanks.');
    field.reportValidity();
    return;
  }
  const form = byId('token-form');
  sessionStorage.setItem(tokenKey(form.dataset.group), token);
  field.value = '';
  form.hidden = true;
  byId('main').focus();
  needsToken = false;
  refresh();
});

// ---- Timelines

/** Returns a bar of the parts of a request; it fills the share of its cell that the request's time is of `longest`. */
function timeline(request, longest) {
  const known = PARTS.slice(0, -1).map((part) => request[part]);
  // Sums of seconds are not exact; the server measures nanoseconds.
  const rest = Math.round((request.total - known.reduce((a, b) => a + b, 0)) * 1e9) / 1e9;
  const durations = [...known, Math.max(0, rest)];
  const texts = PARTS.map((part, i) => `${part} ${time(durations[i])}`);
  const bar = element('div', 'bar');
  bar.setAttribute('role', 'img');
  bar.setAttribute('aria-label', texts.join(', '));
  bar.style.width = `${Math.max(1, 100 * request.total / longest).toFixed(2)}%`;
  PARTS.forEach((part, i) => {
    const share = element('span', `part ${part}`);
    share.title = texts[i];
    share.style.width = `${(100 * durations[i] / request.total).toFixed(2)}%`;
    bar.append(share);
  });
  const whole = element('div');
  const lasting = texts.filter((text, i) => durations[i] > 0);
  whole.append(bar, element('div', 'parts', lasting.join(' · ')));
  return whole;
}

/** Reads the header Server-Timing, whose durations are milliseconds. */
function serverTiming(header) {
  const timings = {};
  for (const [, name, duration, text] of header.matchAll(/([a-z]+);(?:dur=([\d.]+)|desc="(\d+)")/g)) {
    timings[name] = duration === undefined ? Number(text) : Number(duration) / 1000;
  }
  return 'total' in timings ? timings : null;
}

// ---- Forms

/** Returns zeros of a shape as JSON, one of each size that varies; null if they are too many. */
function zeros(dtype, dims) {
  const sizes = (dims ?? []).map((size) => (size < 0 ? 1 : size));
  if (sizes.reduce((a, b) => a * b, 1) > MAX_ZEROS) return null;
  const list = (rank, indent) => {
    if (rank === sizes.length) return ZEROS[dtype];
    const parts = Array(sizes[rank]).fill(list(rank + 1, `${indent} `));
    const line = `[${parts.join(', ')}]`;
    return line.length <= LINE_LENGTH && !line.includes('\n') ? line : `[${parts.join(`,\n${indent} `)}]`;
  };
  return list(0, '');
}

let numFields = 0;

function addField(form, name, hint, value, placeholder) {
  const field = element('textarea');
  field.id = `field-${numFields += 1}`;
  field.name = name;
  field.spellcheck = false;
  field.defaultValue = value;
  field.placeholder = placeholder;
  field.rows = Math.min(12, value.split('\n').length + 1);
  const label = element('label', '', name);
  label.htmlFor = field.id;
  label.append(' ', element('span', 'hint', hint));
  form.querySelector('.inputs').append(label, field);
}

const verbOf = (signature) => ({ 'tensorflow/serving/classify': 'classify', 'tensorflow/serving/regress': 'regress' }[signature.method] ?? 'predict');

function makeForm(form, model, version, signature) {
  const verb = verbOf(signature);
  const unreadable = signature.inputs.find((input) => !(input.dtype in ZEROS));
  if (verb === 'predict' && unreadable) {
    form.replaceChildren(element('p', 'hint', `Input ${unreadable.name} is ${unreadable.dtype}, which JSON requests do not have; a binary request does.`));
    return;
  }
  if (verb === 'predict') {
    for (const input of signature.inputs) {
      const value = zeros(input.dtype, input.shape);
      const hint = input.dtype === 'string' ? `${input.dtype} ${shape(input.shape)}; bytes as {"b64": "…"}` : `${input.dtype} ${shape(input.shape)}`;
      addField(form, input.name, hint, value ?? '', value === null ? 'The zeros of this shape are too many to show.' : '');
    }
  } else {
    addField(form, 'examples', 'a list of {"feature": value}', '[{}]', '');
  }
  form.setAttribute('aria-label', `Try ${signature.name} of ${model} version ${version}`);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(form, verb, `v1/models/${encodeURIComponent(model)}/versions/${version}:${verb}`, signature.name);
  });
  form.addEventListener('reset', () => {
    form.querySelectorAll('textarea').forEach((field) => field.setAttribute('aria-invalid', 'false'));
    form.querySelector('.result').hidden = true;
    form.querySelector('.result-bar').replaceChildren();
    showResult(form, '', false);
  });
}

function showResult(form, text, isBad) {
  const line = form.querySelector('.result-line');
  line.classList.toggle('bad', isBad);
  setText(line, text);
}

/** Sends what a form says, and shows the answer. Texts of inputs go as they are: numbers keep all their digits. */
async function send(form, verb, path, signature) {
  const fields = [...form.querySelectorAll('textarea')];
  const empty = fields.find((field) => !field.value.trim());
  fields.forEach((field) => field.setAttribute('aria-invalid', String(field === empty)));
  if (empty) {
    showResult(form, `${empty.name} is empty.`, true);
    empty.focus();
    return;
  }
  const members = fields.map((field) => `${JSON.stringify(field.name)}: ${field.value}`).join(', ');
  const body = `{"signature_name": ${JSON.stringify(signature)}, ${verb === 'predict' ? `"inputs": {${members}}` : members}}`;
  const [button, bar, output] = ['button', '.result-bar', '.result'].map((selector) => form.querySelector(selector));
  button.disabled = true;
  bar.replaceChildren();
  output.hidden = true;
  showResult(form, 'Sending …', false);
  try {
    const start = performance.now();
    const headers = { 'content-type': 'application/json', 'x-flowmill-trace': '1', ...authorization('inference') };
    const response = await fetch(path, { method: 'POST', headers, body });
    const text = await response.text();
    const seconds = (performance.now() - start) / 1000;
    const timings = serverTiming(response.headers.get('server-timing') ?? '');
    const rows = timings?.batch ? `, ${timings.batch} ${timings.batch === 1 ? 'row' : 'rows'} in the batch` : '';
    const inServer = timings ? `, of which ${time(timings.total)} in the server` : '';
    showResult(form, `${response.status} ${response.ok ? 'OK' : 'error'} after ${time(seconds)}${inServer}${rows}.`, !response.ok);
    if (timings) bar.replaceChildren(timeline(timings, timings.total));
    showText(output, answerText(response.ok, text));
    output.classList.toggle('bad', !response.ok);
    if (response.status === 401) askForToken('inference');
  } catch (error) {
    showResult(form, `The request failed: ${error.message}`, true);
  } finally {
    button.disabled = false;
  }
}

/** Returns what to show of an answer: the message of an error, cut if it is long. */
function answerText(isOk, text) {
  if (!isOk) {
    try {
      text = JSON.parse(text).error ?? text;
    } catch {
      // An answer that is not JSON is shown as it is.
    }
  }
  text = String(text);
  return text.length > MAX_ANSWER_LENGTH ? `${text.slice(0, MAX_ANSWER_LENGTH)}\n… ${bytes(text.length)} in all` : text;
}

// ---- Status

const fromTemplate = (id) => byId(id).content.firstElementChild.cloneNode(true);

function showServer(server) {
  setText(byId('server-version'), server.version);
  const ready = byId('ready');
  setText(ready, server.ready ? 'ready' : 'not ready');
  ready.classList.toggle('good', server.ready);
  const numbers = [
    ['Uptime', span(server.uptime), ''],
    ['Requests in flight', number(server.requests_in_flight), `of ${number(server.max_requests_in_flight)}`],
    ['Bytes of bodies', bytes(server.bytes_in_flight), `of ${bytes(server.max_bytes_in_flight)}`],
    ['Waiting steps', number(server.waiting_steps), ''],
    ['Rejected requests', number(server.rejected_requests), ''],
    ['Tensors from 64 KiB', bytes(server.tensor_bytes), ''],
  ];
  if (server.resident_bytes !== undefined) numbers.push(['Process memory', bytes(server.resident_bytes), '']);
  const create = ([name]) => {
    const made = element('div');
    const value = element('dd');
    value.append(element('span'), ' ', element('small'));
    made.append(element('dt', '', name), value);
    return made;
  };
  const update = (made, [, value, more]) => {
    setText(made.querySelector('dd span'), value);
    setText(made.querySelector('small'), more);
  };
  reconcile(byId('server'), numbers, ([name]) => name, create, update);
}

function showModel(made, model) {
  setText(made.querySelector('h3'), model.name);
  showText(made.querySelector('.model-error'), problemText(model.error));
  const create = () => fromTemplate('version-template');
  reconcile(made.querySelector('.versions'), model.versions, (version) => version.version, create, (child, version) => showVersion(child, model, version));
}

function showVersion(made, model, version) {
  setText(made.querySelector('.version-name'), `Version ${version.version}`);
  const state = made.querySelector('.state');
  setText(state, version.state);
  state.classList.toggle('good', version.state === 'AVAILABLE');
  state.classList.toggle('bad', version.state === 'END' && version.error !== undefined);
  const label = (text) => {
    const made = element('span', 'label', text);
    made.title = 'label';
    return made;
  };
  reconcile(made.querySelector('.labels'), version.labels, (text) => text, label, () => {});
  const facts = version.platform ? `${version.platform}, loaded in ${time(version.load_time)}` : '';
  showText(made.querySelector('.facts'), facts);
  showText(made.querySelector('.version-error'), problemText(version.error));
  // A signature whose tensors changed gets a new form.
  const keyOf = (signature) => JSON.stringify([signature.name, signature.method, signature.inputs, signature.outputs]);
  const create = (signature) => makeSignature(model.name, version.version, signature);
  reconcile(made.querySelector('.signatures'), version.signatures ?? [], keyOf, create, () => {});
}

function makeSignature(model, version, signature) {
  const made = fromTemplate('signature-template');
  setText(made.querySelector('.signature-name'), signature.name);
  const batches = signature.max_batch_rows ? `, batches of up to ${signature.max_batch_rows} rows` : '';
  setText(made.querySelector('.signature-facts'), `${signature.method || 'no method'}${batches}`);
  made.querySelector('.scroll').setAttribute('aria-label', `Inputs and outputs of ${signature.name}`);
  const tensors = [...signature.inputs.map((tensor) => [tensor, 'input']), ...signature.outputs.map((tensor) => [tensor, 'output'])];
  const cells = ([tensor, direction]) => [tensor.name, direction, tensor.dtype, shape(tensor.shape)];
  fillRows(made.querySelector('.tensors'), tensors, ([tensor, direction]) => `${direction} ${tensor.name}`, cells, 0);
  makeForm(made.querySelector('form'), model, version, signature);
  return made;
}

/** Answers of the last seconds: the time in the server and the counts by signature. */
let samples = [];

function signaturesOf(status) {
  return status.models.flatMap((model) => model.versions.flatMap((version) => (version.signatures ?? []).map((signature) => ({
    key: JSON.stringify([model.name, version.version, signature.name]),
    name: `${model.name} / ${version.version} / ${signature.name}`,
    signature,
  }))));
}

/** Returns the time that a share `q` of the requests between two answers did not exceed, with a straight line within its bucket. */
function quantile(q, now, before) {
  const counts = now.latency.buckets.map(([, count], i) => count - before.latency.buckets[i][1]);
  const all = Math.max(now.succeeded - before.succeeded, counts.at(-1));
  if (all <= 0) return '–';
  const i = counts.findIndex((count) => count >= q * all);
  const ends = now.latency.buckets.map(([end]) => end);
  if (i < 0) return `> ${time(ends.at(-1))}`;
  const [below, start] = i === 0 ? [0, 0] : [counts[i - 1], ends[i - 1]];
  return time(start + (ends[i] - start) * (q * all - below) / (counts[i] - below));
}

function showTraffic(status) {
  const now = { time: status.server.uptime, signatures: new Map(signaturesOf(status).map((entry) => [entry.key, entry.signature])) };
  // A smaller uptime is that of a server that was started anew.
  samples = samples.filter((sample) => sample.time < now.time && now.time - sample.time <= WINDOW_SECONDS + 0.5);
  const before = samples[0];
  samples.push(now);
  const cells = ({ key, name, signature }) => {
    const old = before?.signatures.get(key);
    const counts = [signature.max_batch_rows ? number(signature.waiting_rows) : '–', number(signature.succeeded + signature.failed), number(signature.failed)];
    if (!old || old.succeeded > signature.succeeded) return [name, '–', '–', '–', '–', '–', '–', ...counts];
    const seconds = now.time - before.time;
    const [failures, steps] = [signature.failed - old.failed, signature.steps - old.steps];
    const requests = signature.succeeded - old.succeeded + failures;
    const rows = steps > 0 ? number((signature.step_rows - old.step_rows) / steps) : '–';
    const quantiles = [0.5, 0.9, 0.99].map((q) => quantile(q, signature, old));
    return [name, number(requests / seconds), number(failures / seconds), ...quantiles, rows, ...counts];
  };
  fillRows(byId('traffic'), signaturesOf(status), ({ key }) => key, cells, 0);
}

function showSlow(requests) {
  byId('no-slow').hidden = requests.length > 0;
  byId('slow-region').hidden = requests.length === 0;
  const longest = Math.max(...requests.map((request) => request.total));
  const cells = (request) => [
    time(request.total),
    timeline(request, longest),
    `${request.model} / ${request.version} / ${request.signature}`,
    request.protocol,
    request.code,
    request.batch_rows ? `${number(request.rows)} (${number(request.batch_rows)})` : '–',
    `${span(request.age)} ago`,
  ];
  const numbered = requests.map((request, i) => ({ ...request, i: String(i) }));
  fillRows(byId('slow'), numbered, (request) => request.i, cells, 2);
}

function showStatus(status) {
  byId('content').hidden = false;
  showServer(status.server);
  byId('no-models').hidden = status.models.length > 0;
  const create = () => fromTemplate('model-template');
  reconcile(byId('models'), status.models, (model) => model.name, create, showModel);
  showTraffic(status);
  showSlow(status.slow_requests);
}

let needsToken = false;
let timer = 0;

async function refresh() {
  clearTimeout(timer);
  try {
    const signal = AbortSignal.timeout(STATUS_TIMEOUT_MILLISECONDS);
    const response = await fetch('flowmill/status', { headers: authorization('observation'), signal });
    if (response.status === 401) {
      needsToken = true;
      askForToken('observation');
      return;
    }
    if (!response.ok) throw new Error(`${response.status}: ${answerText(false, await response.text())}`);
    showStatus(await response.json());
    showText(byId('problem'), '');
  } catch (error) {
    showText(byId('problem'), `The status cannot be read: ${error.message}`);
    const ready = byId('ready');
    setText(ready, 'no answer');
    ready.classList.remove('good');
  } finally {
    schedule();
  }
}

/** Refreshes in a second, unless the reader does not want it or looks elsewhere. */
function schedule() {
  clearTimeout(timer);
  if (byId('refresh').checked && !document.hidden && !needsToken) timer = setTimeout(refresh, REFRESH_MILLISECONDS);
}

byId('refresh').addEventListener('change', schedule);
document.addEventListener('visibilitychange', schedule);
refresh();
