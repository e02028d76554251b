/** Owns source text as people read it: strings, comments, numbers and words of seven languages, with a cut for large files. */
import { useMemo, useState, type ReactElement, type ReactNode } from 'react';
import { t } from '../i18n';

const WORDS = [
  'abstract|and|as|class|companion|const|declare|def|end|export|extends|false|final|fn|for|from|fun|func|function|implements|impl|import|include',
  'interface|let|mapOf|listOf|module|namespace|nil|None|null|object|package|private|protected|pub|public|require|return|self|static|strict_types',
  'struct|true|True|False|type|use|val|var',
].join('|');
const STRING = /("""[\s\S]*?"""|'''[\s\S]*?'''|r?(#+)"[\s\S]*?"\2|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*')/;
const COMMENT = /(\/\/[^\n]*|\/\*[\s\S]*?\*\/|#(?![[!{])[^\n]*)/;
const NUMBER = /\b(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b/;
const TOKEN = new RegExp([STRING.source, COMMENT.source, NUMBER.source, `\\b(${WORDS})\\b`].join('|'), 'g');
const LIMIT = 64 * 1024;

export interface Piece {
  text: string;
  kind: 's' | 'co' | 'nu' | 'w' | null;
}

/** The text in pieces, in order; put together they are the text. */
export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let last = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > last) out.push({ text: text.slice(last, match.index), kind: null });
    out.push({ text: match[0], kind: match[1] !== undefined ? 's' : match[3] !== undefined ? 'co' : match[4] !== undefined ? 'nu' : 'w' });
    last = match.index + match[0].length;
  }
  if (last < text.length) out.push({ text: text.slice(last), kind: null });
  return out;
}

const paint = (text: string): ReactNode[] =>
  pieces(text).map((piece, n) =>
    piece.kind ? (
      <span key={n} className={piece.kind}>
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );

export function SourceText({ text, label }: { text: string; label: string }): ReactElement {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > LIMIT;
  const painted = useMemo(() => paint(cut ? text.slice(0, LIMIT) : text), [text, cut]);
  return (
    <>
      <pre className="code source" tabIndex={0} role="group" aria-label={label} translate="no">
        {painted}
      </pre>
      {cut && (
        <button type="button" className="link small" onClick={() => setWhole(true)}>
          {t('load.rest')}
        </button>
      )}
    </>
  );
}
