/** Owns reading the files that models and tools made, wherever events, messages and states list them. */

export interface MadeFile {
  key: string;
  name: string;
  type: string;
  size: number | null;
}

type Given = Record<string, unknown> | null | undefined;

function one(file: Given): MadeFile[] {
  const type = file?.media_type ?? file?.mime_type;
  if (typeof file?.storage_key !== 'string' || typeof type !== 'string') return [];
  const size = file.size ?? file.size_bytes;
  return [
    {
      key: file.storage_key,
      name: typeof file.name === 'string' && file.name ? file.name : type,
      type,
      size: typeof size === 'number' ? size : null,
    },
  ];
}

/** The files of a list, each once. */
export function madeFiles(list: unknown): MadeFile[] {
  const all = (Array.isArray(list) ? (list as Given[]) : []).flatMap(one);
  return all.filter((file, at) => all.findIndex((other) => other.key === file.key) === at);
}

/** The files among the parts of a message, those of results in it too. */
export const filesOfParts = (parts: unknown): MadeFile[] =>
  madeFiles(
    (Array.isArray(parts) ? (parts as Given[]) : []).flatMap((part) =>
      part?.type === 'file' ? [part] : part?.type === 'result' && Array.isArray(part.parts) ? (part.parts as Given[]) : [],
    ),
  );

/** The files that a value of a state or the output of a call lists. */
export const filesIn = (value: unknown): MadeFile[] =>
  madeFiles(Array.isArray(value) ? value : (value as { files?: unknown } | null | undefined)?.files);
