/** Owns Markdown: parsed into elements, block by block; HTML in it stays text, and nothing is ever set as HTML. */
import { lexer, type Token, type Tokens } from 'marked';
import { Copy } from 'lucide-react';
import { createElement, memo, useMemo, type ReactElement, type ReactNode } from 'react';
import { t } from '../i18n';
import { Button } from './button';
import { copy } from './copy';

const SAFE = /^(?:https?:|mailto:|#)/i;

/** What lies in a token. */
const inner = (tokens: Token[] | undefined): ReactNode[] => (tokens ?? []).map((token, n) => <Part key={n} token={token} />);

function Part({ token: any }: { token: Token }): ReactNode {
  const token = any as Tokens.Generic;
  switch (token.type) {
    case 'paragraph':
      return <p>{inner(token.tokens)}</p>;
    case 'heading':
      return createElement(`h${Math.min(6, token.depth as number)}`, null, inner(token.tokens));
    case 'text':
      return token.tokens ? inner(token.tokens) : plain(token.text as string);
    case 'strong':
      return <strong>{inner(token.tokens)}</strong>;
    case 'em':
      return <em>{inner(token.tokens)}</em>;
    case 'del':
      return <del>{inner(token.tokens)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'code':
      return <CodeBlock text={token.text as string} />;
    case 'br':
      return <br />;
    case 'hr':
      return <hr />;
    case 'blockquote':
      return <blockquote>{inner(token.tokens)}</blockquote>;
    case 'link':
      return SAFE.test(token.href as string) ? (
        <a href={token.href} title={(token.title as string | null) ?? undefined} target="_blank" rel="noreferrer noopener">
          {inner(token.tokens)}
        </a>
      ) : (
        inner(token.tokens)
      );
    case 'list':
      return <List list={token as Tokens.List} />;
    case 'table':
      return <Table table={token as Tokens.Table} />;
    case 'space':
    case 'def':
    case 'checkbox':
      return null;
    default:
      return token.type === 'html' ? token.raw : plain((token.text as string | undefined) ?? token.raw);
  }
}

const NAMED: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  copy: '©',
  euro: '€',
};
/** Characters that are written by name or number. */
const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, ten?: string, hex?: string, name?: string) => {
    const code = ten ? Number(ten) : hex ? Number.parseInt(hex, 16) : 0;
    return name ? (NAMED[name] ?? whole) : code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });

/** A line that was broken by hand stays broken. */
const plain = (given: string, text = decoded(given)): ReactNode =>
  text.includes('\n') ? text.split('\n').flatMap((line, n) => (n ? [<br key={n} />, line] : [line])) : text;

function CodeBlock({ text }: { text: string }): ReactElement {
  return (
    <div className="mdcode">
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <Button
        look="ghost"
        small
        icon={Copy}
        label={t('copy')}
        onClick={() => {
          void copy(text);
        }}
      />
    </div>
  );
}

function List({ list }: { list: Tokens.List }): ReactElement {
  const items = list.items.map((item, n) => (
    <li key={n}>
      {item.task && <span aria-hidden="true">{item.checked ? '☑ ' : '☐ '}</span>}
      {inner(item.tokens)}
    </li>
  ));
  return list.ordered ? <ol start={list.start === '' || list.start === 1 ? undefined : list.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }): ReactElement {
  const side = (n: number): string | undefined => (table.align[n] === 'right' ? 'num' : undefined);
  return (
    <table>
      <thead>
        <tr>
          {table.header.map((cell, n) => (
            <th key={n} scope="col" className={side(n)}>
              {inner(cell.tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row, r) => (
          <tr key={r}>
            {row.map((cell, n) => (
              <td key={n} className={side(n)}>
                {inner(cell.tokens)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const Block = memo(function Block({ text }: { text: string }): ReactElement {
  const tokens = useMemo(() => lexer(text, { gfm: true, breaks: true }), [text]);
  return <div>{inner(tokens)}</div>;
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
      {parts.map((part, n) => (
        <Block key={n} text={part} />
      ))}
    </div>
  );
}
