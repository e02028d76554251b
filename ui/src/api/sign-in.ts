/** Owns going on after a session ended: the page's own token is read anew, also when the sign-in happened in another tab. */
import { tellConnection, useConnection } from './connection';
import { mount } from './root';

const TOKEN = /<meta\b[^>]*>/gi;
const attribute = (tag: string, name: string): string | null => {
  const found = new RegExp(`\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'i').exec(tag);
  return found ? (found[1] ?? found[2] ?? '') : null;
};
const plain = (text: string): string =>
  text
    .replace(/&quot;/g, '"')
    .replace(/&#0*39;|&#x0*27;/gi, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');

/** What the page says of itself now; null when the host answers something else, such as a form to sign in. */
async function metas(): Promise<Map<string, string> | null> {
  const response = await fetch(location.href, {
    headers: { Accept: 'text/html' },
    credentials: 'same-origin',
    cache: 'no-store',
  }).catch(() => null);
  if (!response?.ok) return null;
  const found = new Map<string, string>();
  for (const [tag] of (await response.text()).matchAll(TOKEN)) {
    const name = attribute(tag, 'name');
    if (name) found.set(name, plain(attribute(tag, 'content') ?? ''));
  }
  return found.has('studio-root') ? found : null;
}

let asking: Promise<boolean> | null = null;

/** Takes over a newer token; true when the page is let in, false when a person has to sign in. One at a time. */
export function renew(): Promise<boolean> {
  asking ??= metas()
    .then((now) => {
      if (!now) return false;
      for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name]')) {
        const text = now.get(meta.name);
        if (text !== undefined && /csrf/i.test(meta.name) && text !== meta.content) meta.content = text;
      }
      return true;
    })
    .finally(() => {
      // oxlint-disable-next-line habits/late-writes -- its own entry, taken out
      asking = null;
    });
  return asking;
}

const letIn = (): void => {
  if (!useConnection.getState().signedOut) return;
  void renew().then((in_) => {
    if (in_) tellConnection({ signedOut: false });
  });
};

/** Tells other tabs that this one was let in, and hears it from them. */
export function startSignIn(): void {
  const channel = new BroadcastChannel(`studio-session:${mount}`);
  channel.postMessage('in');
  channel.onmessage = letIn;
  window.addEventListener('focus', letIn);
  useConnection.subscribe((now, before) => {
    if (before.signedOut && !now.signedOut) channel.postMessage('in');
  });
}
