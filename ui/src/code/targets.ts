/** Owns what the pages know of generated code: its languages, what switches it off, where an import leads. */
import type { CodeImported, CodeKind, RegistryClassListed, Settings } from '@wfstudio/client';

export const TARGETS = ['php', 'python', 'typescript', 'kotlin', 'swift', 'ruby', 'rust'] as const;
export type Target = (typeof TARGETS)[number];

export const TARGET_NAMES: Record<Target, string> = {
  php: 'PHP',
  python: 'Python',
  typescript: 'TypeScript',
  kotlin: 'Kotlin',
  swift: 'Swift',
  ruby: 'Ruby',
  rust: 'Rust',
};

const isTarget = (word: unknown): word is Target => TARGETS.includes(word as Target);

/** The language that was asked for, else the configured one. */
export function targetOf(word: string | null, settings: Settings | undefined): Target {
  if (isTarget(word)) return word;
  const configured = settings?.keys.find((k) => k.key === 'codegen.target')?.value;
  return isTarget(configured) ? configured : 'php';
}

export const targetName = (word: string): string => (isTarget(word) ? TARGET_NAMES[word] : word);

const OWN = { canExport: 'codegen.export', canPreview: 'codegen.preview', canImport: 'codegen.enabled' } as const;

/** The key that switches something off; null while it is on, and before the settings are known. */
export function offKey(settings: Settings | undefined, flag: keyof typeof OWN): string | null {
  if (!settings || settings.flags[flag] !== false) return null;
  return settings.flags.canImport === false ? 'codegen.enabled' : OWN[flag];
}

/** Where something that can be imported is looked at first. */
export function previewPath(one: Pick<RegistryClassListed, 'ref'>): string {
  const at = one.ref.indexOf(':');
  const query = new URLSearchParams({ [one.ref.slice(0, at) === 'json' ? 'json' : 'class']: one.ref.slice(at + 1) });
  return `/workflows/preview?${query}`;
}

export const PAGE_OF: Record<CodeKind, string> = { workflow: 'workflows', agent: 'agents', tool: 'tools' };

/** Where what was made can be seen. */
export function madePath(made: Pick<CodeImported, 'workflow' | 'agent' | 'tool'>): string {
  if (made.workflow) return `/workflows/${made.workflow.id}/edit`;
  if (made.agent) return `/agents/${made.agent.id}`;
  return made.tool ? `/tools/${made.tool.id}` : '/workflows';
}

/** What a pasted text or a file holds, as an import takes it; a bare graph takes the name of its file. */
export function fileForImport(text: string, fileName: string | null): { json: Record<string, unknown> } | { wrong: 'json' | 'graph' } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { wrong: 'json' };
  }
  if (!value || typeof value !== 'object' || Array.isArray(value)) return { wrong: 'graph' };
  const file = value as Record<string, unknown>;
  if (file.graph && typeof file.graph === 'object') return { json: file };
  if (!Array.isArray(file.nodes)) return { wrong: 'graph' };
  const name = fileName?.replace(/\.json$/i, '').trim();
  return { json: name ? { meta: { name }, graph: file } : file };
}
