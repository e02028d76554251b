/** Owns serving the pages of a folder in place of those in the host, so that a walk needs no new host. */
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' };

/** True when the request was for a file of the folder. */
export function asset(folder, req, res) {
  const name = /\/assets\/([\w.-]+)$/.exec(req.url.split('?')[0])?.[1];
  if (!folder || !name) return false;
  try {
    const data = readFileSync(join(folder, 'assets', name));
    res.writeHead(200, { 'Content-Type': TYPES[extname(name)] ?? 'application/octet-stream', 'Cache-Control': 'max-age=86400, immutable' });
    res.end(data);
  } catch {
    res.writeHead(404);
    res.end();
  }
  return true;
}

/** The page of the folder, with what the host wrote into its own. */
export function page(folder, own) {
  const root = /name="studio-root" content="([^"]*)"/.exec(own)?.[1];
  if (root === undefined) return own;
  const metas = own.match(/<meta name="studio-[^>]*>/g).join('');
  return readFileSync(join(folder, 'index.html'), 'utf8')
    .replaceAll('"./assets/', `"${root}assets/`)
    .replace(/<meta name="studio-root"[^>]*>/, metas);
}
