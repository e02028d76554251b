/** Stands before the studio under test: answers some requests itself, passes all others on. */
import { createServer, request } from 'node:http';
import { base } from './browser.mjs';

/** `answer(req, res, path)` is true when it took the request. Gives the address of the pages and how to close it. */
export async function standIn(answer) {
  const upstream = new URL(base);
  const server = createServer((req, res) => {
    const path = req.url.slice(upstream.pathname.replace(/\/$/, '').length);
    if (answer(req, res, path)) return;
    const onward = request(
      { host: upstream.hostname, port: upstream.port, path: req.url, method: req.method, headers: req.headers },
      (reply) => {
        res.writeHead(reply.statusCode, reply.headers);
        reply.pipe(res);
      },
    );
    onward.on('error', () => {
      res.writeHead(502);
      res.end();
    });
    req.pipe(onward);
    res.on('close', () => onward.destroy());
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${server.address().port}${upstream.pathname.replace(/\/$/, '')}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export const json = (res, text) => {
  res.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  res.end(text);
  return true;
};
