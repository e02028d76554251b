import { describe, expect, it, vi } from 'vitest';

vi.stubGlobal('document', { querySelector: () => null, documentElement: { lang: 'en' } });
vi.stubGlobal('location', { href: 'http://localhost/studio' });
const { before, csv, delta, quantile } = await import('../../src/pages/usage/data');
const { niceTop } = await import('../../src/pages/usage/chart');
const { dayRange } = await import('../../src/i18n/figures');
const { dayIn, daysBetween, lastDays, plusDays } = await import('../../src/api/window');

describe('the window', () => {
  it('is compared with the one of the same length before it', () =>
    expect(before({ from: '2026-03-01', to: '2026-03-07' })).toEqual({ from: '2026-02-22', to: '2026-02-28' }));
  it('keeps its filters', () =>
    expect(before({ from: '2026-03-01', to: '2026-03-01', model: 'm' })).toEqual({ from: '2026-02-28', to: '2026-02-28', model: 'm' }));
  it('counts both ends', () => expect(daysBetween(...(Object.values(lastDays(30, '2026-03-02')) as [string, string]))).toHaveLength(30));
  it('ends with the day that it is in the configured zone', () => {
    const at = new Date('2026-11-23T23:00:00Z');
    expect([dayIn('Asia/Tokyo', at), dayIn('America/Sao_Paulo', at), dayIn('UTC', at)]).toEqual(['2026-11-24', '2026-11-23', '2026-11-23']);
    expect(lastDays(7, dayIn('Asia/Tokyo', at))).toEqual({ from: '2026-11-18', to: '2026-11-24' });
    expect(dayIn('Mars/Base', at)).toBe('2026-11-23');
    expect(plusDays('2028-02-28', 2)).toBe('2028-03-01');
  });
  it('reads as people write it', () =>
    expect(dayRange('2026-10-22', '2026-11-20').replace(/\s/g, ' ')).toMatch(/22.*Oct.*20.*Nov.*2026|Oct 22.*Nov 20, 2026/));
});

describe('figures', () => {
  it('compare without floating point', () => {
    expect(delta('0.300000', '0.100000')).toBe(2);
    expect(delta('0.999000', '1.000000')).toBe(-0.001);
    expect(delta('1.000000', '0.000000')).toBeNull();
  });
  it('take a quantile that was measured', () => {
    expect(quantile([], 0.5)).toBeNull();
    expect(quantile([3, 1, 2], 0.5)).toBe(2);
    expect(quantile([1, 2, 3, 4], 0.95)).toBe(4);
  });
  it('end at a round number that holds them', () => {
    for (const value of [0n, 4n, 5n, 23n, 390_000n, 10n ** 18n]) expect(niceTop(value) >= value).toBe(true);
    expect(niceTop(23n)).toBe(40n);
  });
});

describe('a table for others', () => {
  const daily = (name: string) => ({ days: ['2026-03-01'], series: [{ id: 'a', name, values: [1_500_000n] }], loading: false });
  it('tells money as decimal text', () => expect(csv(daily('gpt'), 'cost')).toBe('date,gpt\r\n2026-03-01,1.500000\r\n'));
  it('leaves out what has no price', () => {
    const [one] = daily('gpt').series;
    expect(csv({ ...daily('gpt'), series: [{ ...one!, values: [0n], unknown: [true] }] }, 'cost')).toBe('date,gpt\r\n2026-03-01,\r\n');
  });
  it('keeps names from being read as formulas or columns', () => {
    expect(csv(daily('=1+1'), 'tokens')).toContain(`"'=1+1"`);
    expect(csv(daily('a,"b"'), 'tokens')).toContain('"a,""b"""');
  });
});
