/** Owns where the pages are mounted: everything is relative to the depth-relative root the host wrote. */
function meta(name: string): string | null {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? null;
}

export const mount = new URL(meta('studio-root') ?? './', location.href).pathname.replace(/\/+$/, '');

export const apiUrl = (path: string): string => mount + path;

export function csrfHeaders(): Record<string, string> {
  const header = meta('studio-csrf-header');
  if (!header) return {};
  const token = meta(meta('studio-csrf-meta') ?? 'csrf-token') ?? meta('studio-csrf-token');
  return token ? { [header]: token } : {};
}

export const hostLocale = (): string | null => meta('studio-locale');
