import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it, vi } from 'vitest';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('location', { href: 'http://a.example/studio', pathname: '/studio', search: '' });
vi.stubGlobal('document', { documentElement: { lang: 'en' }, querySelector: () => null });
vi.stubGlobal('matchMedia', () => ({ matches: false }));
const { default: MarkdownBlocks } = await import('../../src/parts/markdown-blocks');

const shown = (text: string): string =>
  renderToStaticMarkup(createElement(MarkdownBlocks, { text })).replace(/^<div class="md"><div>|<\/div><\/div>$/g, '');

it('draws what models write', () => {
  expect(shown('# A *b*\n\none **two** ~~three~~ `x < y`\nnext')).toBe(
    '<h1>A <em>b</em></h1></div><div><p>one <strong>two</strong> <del>three</del> <code>x &lt; y</code><br/>next</p>',
  );
  expect(shown('- a\n- b\n  1. c')).toBe('<ul><li>a</li><li>b<ol><li>c</li></ol></li></ul>');
  expect(shown('3. a\n4. b')).toBe('<ol start="3"><li>a</li><li>b</li></ol>');
  expect(shown('| a | b |\n|---|--:|\n| 1 | 2 |')).toBe(
    '<table><thead><tr><th scope="col">a</th><th scope="col" class="num">b</th></tr></thead><tbody><tr><td>1</td><td class="num">2</td></tr></tbody></table>',
  );
  expect(shown('```js\nlet a = "<b>";\n```')).toMatch(
    /^<div class="mdcode"><pre tabindex="0"><code>let a = &quot;&lt;b&gt;&quot;;<\/code><\/pre><button/,
  );
  expect(shown('> said\n\n---')).toBe('<blockquote><p>said</p></blockquote></div><div><hr/>');
  expect(shown('[x](https://a.example "t") &amp; &#8364; &unknown;')).toBe(
    '<p><a href="https://a.example" title="t" target="_blank" rel="noreferrer noopener">x</a> &amp; € &amp;unknown;</p>',
  );
  expect(shown('- [x] done\n- [ ] open')).toContain('☑ ');
});

it('leaves hostile text as text', () => {
  for (const hostile of [
    '<img src=x onerror=alert(1)>',
    '<script>alert(1)</script>',
    'a <b onclick="x">b</b>',
    '[x](javascript:alert(1))',
    '[x](data:text/html,x)',
    '![x](https://a.example/p.png)',
    '<https://a.example/"onmouseover=x>',
    '&lt;script&gt;',
  ]) {
    const html = shown(hostile);
    expect(html, hostile).not.toMatch(/<(?:img|script|b )|href="(?:javascript|data)/);
  }
  expect(shown('[x](javascript:alert(1))')).toBe('<p>x</p>');
  expect(shown('&lt;script&gt;')).toBe('<p>&lt;script&gt;</p>');
});
