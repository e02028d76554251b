/** Owns the line between the pages and the host: passes everything on, and by a seed delays, refuses or cuts what carries data. */
import { createServer, request } from 'node:http';
import { lot } from './chance.mjs';
import { asset, page } from './pages.mjs';

const DATA = /\/api\/|\/stream$|\/chat\/|\/traces\/[^/]+\/(cancel|resume|retry)/;
const isData = (req) => !/text\/html/.test(req.headers.accept ?? '') && DATA.test(req.url.split('?')[0]);

const refuse = (res, status, code, headers = {}) => {
  res.writeHead(status, { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store', ...headers });
  res.end(JSON.stringify({ status, code, title: code, detail: code, message: code }));
};

/** What happens to one request while the line is `how`. */
const WAYS = {
  fine: () => ({}),
  slow: (x) => ({ before: 150 + x * 1500 }),
  late: (x) => ({ after: 150 + x * 1500 }),
  busy: (x) => (x < 0.4 ? { status: 429, code: 'too_many_requests', headers: { 'Retry-After': '1' } } : {}),
  ill: (x) => (x < 0.4 ? { status: 503, code: 'unavailable' } : { before: x * 300 }),
  cut: (x) => (x < 0.25 ? { gone: true } : x < 0.5 ? { bytes: Math.floor(x * 1200) } : {}),
  deaf: (x) => (x < 0.3 ? { lost: true } : {}),
  out: () => ({ status: 401, code: 'unauthenticated' }),
  // What was begun is cut, and whoever comes back is not known any more.
  ends: (x, begins) => (begins ? { events: 1 + Math.floor(x * 4) } : { status: 401, code: 'unauthenticated' }),
  off: () => ({ gone: true }),
  /** No run and no turn begins; whatever else is asked for is answered. */
  full: (x, begins) => (begins ? { status: 429, code: 'too_many_runs', headers: { 'Retry-After': '1' } } : {}),
};
export const LINES = Object.keys(WAYS);

/** `folder`: where the pages are, if not in the host. */
export async function faultyLine(folder, pace) {
  const line = {
    how: 'fine',
    seed: 0,
    port: 0,
    upstream: 0,
    seen: new Map(),
    step: 0,
    told: [],
    folder,
    pace,
    busy: 0,
    stored: () => undefined,
    turns: 0,
  };
  const holds = new Set();
  const moved = new Set();
  /** Resolves when something that was asked for has ended, or after so long. */
  line.moves = (ms) =>
    new Promise((go) => {
      const end = () => {
        clearTimeout(late);
        moved.delete(end);
        go();
      };
      const late = setTimeout(end, ms);
      moved.add(end);
    });
  /** Keeps the answers to requests like this back until they are let go; `seen` says whether there is one, after so long at the latest. What it
   * lets go resolves once it was told. */
  line.hold = (what, ms) => {
    const hold = { what, let: null, ends: [] };
    hold.free = new Promise((go) => (hold.let = go));
    holds.add(hold);
    const letGo = () => {
      holds.delete(hold);
      hold.let();
      return Promise.all(hold.ends);
    };
    let any = false;
    hold.took = (res) => {
      any = true;
      hold.ends.push(new Promise((go) => res.once('close', go)));
    };
    return { letGo, seen: line.sees(what, ms).then(() => any) };
  };
  const awaited = new Map();
  /** Resolves when something like this is asked for, or after so long. */
  line.sees = (what, ms) =>
    new Promise((go) => {
      const end = () => {
        clearTimeout(late);
        awaited.delete(what);
        go();
      };
      const late = setTimeout(end, ms);
      awaited.set(what, end);
    });
  const server = createServer((req, res) => {
    if (asset(folder, req, res)) return;
    line.busy++;
    res.once('close', () => {
      line.busy--;
      for (const end of [...moved]) end();
    });
    const key = `${line.how} ${req.method} ${req.url.replace(/[0-9a-f-]{36}|[0-9A-Z]{26}/g, '*')}`;
    const nth = (line.seen.get(key) ?? 0) + 1;
    line.seen.set(key, nth);
    // A host that is full stays full for a while.
    const by = line.how === 'busy' ? lot(line.seed, line.turns, key) : lot(line.seed, line.step, key, nth);
    const begins = req.method === 'POST' && /\/stream$/.test(req.url.split('?')[0]);
    const fault = isData(req) ? WAYS[line.how](by, begins) : {};
    const asks = `${req.method} ${req.url}`;
    const held = fault.gone || fault.status ? [] : [...holds].filter((h) => h.what.test(asks));
    for (const hold of held) hold.took(res);
    if (held.length) fault.free = Promise.all(held.map((h) => h.free));
    for (const [what, go] of [...awaited]) if (what.test(asks)) go();
    if (Object.keys(fault).length) line.told.push(`${asks.slice(0, 96)} ${JSON.stringify({ ...fault, free: fault.free && 'held back' })}`);
    if (fault.gone) return req.socket.destroy();
    if (fault.status) {
      req.resume();
      return refuse(res, fault.status, fault.code, fault.headers);
    }
    setTimeout(() => pass(line, req, res, fault), (fault.before ?? 0) / pace);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  line.port = server.address().port;
  line.close = () => {
    server.closeAllConnections();
    server.close();
  };
  /** Also what is under way ends when the network goes. */
  line.set = (how) => {
    line.how = how;
    line.turns++;
    if (how === 'off') server.closeAllConnections();
  };
  return line;
}

/** What forms the host has stored, whatever the page hears of it. */
function listen(line, req) {
  const form = req.method === 'PUT' && /\/api\/(agents|tools)\/([^/?]+)$/.exec(req.url.split('?')[0]);
  if (!form) return () => undefined;
  const parts = [];
  req.on('data', (part) => parts.push(part));
  return (status) => status < 300 && line.stored(form[1], form[2], JSON.parse(Buffer.concat(parts).toString()));
}

/** Gives what is let through of a chunk: it itself until so many bytes or events are told. */
function limit(bytes, events) {
  let [left, many] = [bytes, events];
  return (chunk) => {
    let end = 0;
    while (many > 0 && many < Infinity && (end = chunk.indexOf('\n\n', end)) >= 0) {
      end += 2;
      many--;
    }
    left -= chunk.length;
    if (many <= 0) return chunk.subarray(0, end);
    return left <= 0 ? Buffer.from(chunk) : chunk;
  };
}

function pass(line, req, res, { after = 0, bytes = Infinity, events = Infinity, lost = false, free = null }) {
  const heard = listen(line, req);
  const onward = request({ host: '127.0.0.1', port: line.upstream, path: req.url, method: req.method, headers: req.headers }, (reply) => {
    const rest = limit(bytes, events);
    heard(reply.statusCode);
    if (lost) {
      reply.resume();
      return req.socket.destroy();
    }
    if (line.folder && /text\/html/.test(reply.headers['content-type'] ?? '')) return whole(line, reply, res);
    const tell = () => {
      res.writeHead(reply.statusCode, reply.headers);
      res.flushHeaders();
      reply.on('data', (chunk) => {
        const some = rest(chunk);
        if (some === chunk) return res.write(chunk);
        reply.pause().removeAllListeners('data');
        // What was let through arrives before the line is cut.
        res.write(some, () => req.socket.destroy());
      });
      reply.on('end', () => res.end());
      reply.on('error', () => req.socket.destroy());
    };
    const soon = () => setTimeout(tell, after / line.pace);
    if (free) void free.then(soon);
    else soon();
  });
  onward.on('error', () => {
    if (!res.headersSent) refuse(res, 502, 'bad_gateway');
    else req.socket.destroy();
  });
  req.pipe(onward);
  res.on('close', () => onward.destroy());
}

function whole(line, reply, res) {
  const parts = [];
  reply.on('data', (part) => parts.push(part));
  reply.on('end', () => {
    const { 'content-length': _, ...headers } = reply.headers;
    res.writeHead(reply.statusCode, headers);
    res.end(page(line.folder, Buffer.concat(parts).toString()));
  });
}
