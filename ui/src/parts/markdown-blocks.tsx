/** Owns Markdown: raw HTML is never parsed, the rest is cleaned and trusted, block by block. */
import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { memo, useMemo, type ReactElement } from 'react';

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escape(text),
    image: ({ text }) => escape(text),
  },
});

const FORBID = { FORBID_TAGS: ['style', 'form', 'input', 'img'], FORBID_ATTR: ['style', 'onerror'], RETURN_TRUSTED_TYPE: true, ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i };

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName === 'A') {
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noreferrer noopener');
  }
});

const Block = memo(function Block({ text }: { text: string }): ReactElement {
  const html = useMemo(() => DOMPurify.sanitize(marked.parse(text, { async: false }), FORBID) as unknown as string, [text]);
  return <div dangerouslySetInnerHTML={{ __html: html }} />;
});

/** Splits at blank lines outside code fences, so that only the last block is parsed again while streaming. */
function blocks(text: string): string[] {
  const out: string[] = [];
  let current = '';
  let fence = false;
  for (const line of text.split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) fence = !fence;
    if (!fence && line.trim() === '' && current && !/^\s*([-*+]|\d+\.)\s/m.test(current)) {
      out.push(current);
      current = '';
    } else current += (current ? '\n' : '') + line;
  }
  if (current) out.push(current);
  return out;
}

export default function MarkdownBlocks({ text, cursor }: { text: string; cursor?: boolean }): ReactElement {
  const parts = useMemo(() => blocks(text), [text]);
  return (
    <div className={cursor ? 'md live' : 'md'}>
      {parts.map((part, n) => <Block key={n} text={part} />)}
    </div>
  );
}
