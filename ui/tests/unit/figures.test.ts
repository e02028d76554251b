import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';

vi.stubGlobal('document', { querySelector: () => null, documentElement: { dataset: {}, lang: 'en' } });
vi.stubGlobal('location', { href: 'http://x/studio/' });
vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined });

const i18n = await import('../../src/i18n');
const f = await import('../../src/i18n/figures');

describe('figures', () => {
  beforeAll(() => i18n.loadLocale('en'));

  it('never turn money into a float', () => {
    expect(f.decimal('9007199254740993.123456')).toBe('9,007,199,254,740,993.123456');
    expect(f.decimal('0.000450')).toBe('0.000450');
    expect(f.decimal('1234.565', 2)).toBe('1,234.57');
    expect(f.decimal('0.9999995', 6)).toBe('1.000000');
    expect(f.sumMoney(['0.100000', '0.200000', null])).toBe('0.300000');
    expect(f.divideMoney('1.000000', 3)).toBe('0.333333');
    expect(f.divideMoney('0.000001', 2)).toBe('0.000001');
    expect(f.money('2.000000', 'USD')).toBe('US$ 2.000000');
    expect(f.money(null)).toBe('–');
  });

  it('keep every amount through millionths and back', () => {
    fc.assert(fc.property(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), (n) => f.micros(f.fromMicros(n)) === n));
  });

  it('follow the language', async () => {
    await i18n.loadLocale('pt_BR');
    expect(f.decimal('1234.5', 2)).toBe('1.234,50');
    expect(i18n.t('runs', { n: 1 })).toBe('1 execução');
    expect(i18n.t('runs', { n: 3 })).toBe('3 execuções');
    await i18n.loadLocale('en');
    expect(i18n.t('runs', { n: 1 })).toBe('1 run');
  });

  it('both catalogs have the same keys, and the same placeholders', async () => {
    const { default: en } = await import('../../src/i18n/en.json');
    const { default: pt } = await import('../../src/i18n/pt_BR.json');
    expect(Object.keys(pt)).toEqual(Object.keys(en));
    const holes = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map((m) => m[0]).sort();
    for (const [key, text] of Object.entries(en)) expect(holes((pt as Record<string, string>)[key] ?? ''), key).toEqual(holes(text));
  });
});
