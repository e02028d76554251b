// @vitest-environment jsdom
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import en from '../../src/i18n/en.json';
import pt from '../../src/i18n/pt_BR.json';
import warnings from '../../src/i18n/pt_BR.warnings.json';
import { loadLocale } from '../../src/i18n';
import { inPages } from '../../src/i18n/sentences';
import { Fault, Warned } from '../../src/parts/said';
import { render } from './dom';

beforeAll(() => loadLocale('pt_BR'));

describe('why a run failed', () => {
  it('is told in both languages for every code of the engine', () => {
    const source = readFileSync('../src/model/event/fault.rs', 'utf8');
    const codes = [...source.matchAll(/ = "(\w+)",$/gm)].map((found) => `fault.${found[1]}`);
    expect(codes.length).toBeGreaterThan(20);
    for (const catalog of [en, pt]) expect(codes.filter((key) => !(key in catalog))).toEqual([]);
  });

  it('stands above what the engine says; a code that is not known is left to the engine', async () => {
    const { host, gone } = await render(
      <>
        <Fault error={{ code: 'tool_failed', message: '`order_id` is missing' }} more={<i>more</i>} />
        <Fault error={{ code: 'other', message: 'said' }} />
      </>,
    );
    const boxes = [...host.querySelectorAll('[role=alert]')];
    expect(boxes[0]?.querySelector('b')?.textContent).toBe(pt['fault.tool_failed']);
    expect(boxes[0]?.textContent).toBe(`${pt['fault.tool_failed']}order_id is missingtool_failedmore`);
    expect(boxes.map((box) => box.querySelectorAll('code').length)).toEqual([1, 0]);
    expect(boxes[1]?.querySelector('b')?.textContent).toBe('said');
    await gone();
  });
});

describe('what a warning says', () => {
  const numbers = (text: string): string =>
    [...text.matchAll(/\{(\d+)\}/g)]
      .map((found) => found[1])
      .sort()
      .join();

  it('is told in Portuguese with what stands in it; each sentence is found, and is no part of an earlier one', () => {
    for (const [english = '', portuguese = ''] of warnings) {
      expect(numbers(portuguese)).toBe(numbers(english));
      const filled = (text: string): string => text.replace(/\{(\d+)\}/g, (_, n: string) => ['x', 'y', 'z', 'v', 'w'][Number(n)] ?? '');
      expect(inPages(filled(english))).toBe(filled(portuguese));
    }
    expect(inPages('the reranker is away')).toBe('the reranker is away');
    expect(inPages('`max_tokens` is 5 instead of 9, the most that `m` takes')).toBe(
      '`max_tokens` é 5 em vez de 9, o máximo que `m` aceita',
    );
    expect(inPages('a file that the model made is not kept: its type is not known')).toBe(
      'um arquivo que o modelo criou não foi guardado: its type is not known',
    );
    for (const other of [
      '`max_tokens` is 5 in this call',
      '`max_tokens` is 5; it asked twice',
      '`m` ended on Friday, and nobody knows why',
    ])
      expect(inPages(other)).toBe(other);
  });

  it('is the sentence that the engine says', () => {
    const rust = readdirSync('../src', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.rs'));
    const source = rust.map((path) => readFileSync(`../src/${path}`, 'utf8')).join('\n');
    // Some are made of two: the longest piece of each is looked for.
    const longest = (english: string): string =>
      english.split(/\{\d+\}| of `|: it |: |; |, /).reduce((one, other) => (other.length > one.length ? other : one), '');
    expect(warnings.map(([english = '']) => longest(english)).filter((piece) => !source.includes(piece))).toEqual([]);
  });
});

describe('what an answer was changed by', () => {
  it('is told in words at the step, once each, and nothing is shown where there is nothing', async () => {
    const cut = { code: 'answer_cut', message: 'the answer is cut at `max_tokens`' };
    const { host, gone } = await render(
      <>
        <Warned list={[cut, cut]} />
        <Warned list={undefined} />
      </>,
    );
    expect([...host.querySelectorAll('.note-box')].map((box) => box.textContent)).toEqual([
      `${pt['fault.answer_cut']} answer_cut the answer is cut at max_tokens`,
    ]);
    await gone();
  });
});
