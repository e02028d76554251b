/** Owns asking for what a page will surely need while its scripts still load. */
import { chosenLocale } from '../i18n';
import { apiUrl, mount } from './root';

const asked = new Map<string, Promise<Response>>();

/** What the page at this address asks first; the same addresses as the page's own requests. */
export function firstRequests(path: string): string[] {
  const trace = /^\/(?:workflows\/)?(?:traces|runs)\/([^/]+)$/.exec(path)?.[1];
  if (trace && trace !== 'compare') return [`/api/runs/${trace}?payloads=none&include=children`];
  const workflow = /^\/workflows\/([^/]+)\/edit$/.exec(path)?.[1];
  return workflow ? [`/api/workflows/${workflow}`, '/api/graph/schema', '/api/providers'] : [];
}

export function askEarly(): void {
  for (const path of firstRequests(location.pathname.slice(mount.length))) {
    const request = fetch(apiUrl(path), {
      headers: { Accept: 'application/json', 'X-Studio-Locale': chosenLocale() },
      credentials: 'same-origin',
    });
    request.catch(() => undefined);
    asked.set(apiUrl(path), request);
  }
}

/** The answer that was asked for early; each is used once. */
export function early(url: string): Promise<Response> | undefined {
  const request = asked.get(url);
  asked.delete(url);
  return request;
}
