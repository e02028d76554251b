/** Owns the texts: two catalogs with the same keys, plurals and figures by Intl. */
import type en from './en.json';
import { hostLocale, mount } from '../api/root';
import { learnSentences } from './sentences';

type Raw = Extract<keyof typeof en, string>;
type Base<K extends string> = K extends `${infer B}_one` | `${infer B}_other` ? B : K;
export type Key = Base<Raw>;
type Catalog = Record<Raw, string>;
export type Locale = 'en' | 'pt_BR';

let catalog: Catalog = {} as Catalog;
let plural = new Intl.PluralRules('en');
export let locale: Locale = 'en';
export let tag = 'en';

const STORED = 'studio.locale';

export function chosenLocale(): Locale {
  const wanted = localStorage.getItem(STORED) ?? hostLocale() ?? document.documentElement.lang ?? navigator.language;
  return /^pt/i.test(wanted) ? 'pt_BR' : 'en';
}

export async function loadLocale(next: Locale): Promise<void> {
  if (next === 'pt_BR') {
    const portuguese = await import('./pt_BR');
    learnSentences(portuguese.warnings);
    return speak(next, portuguese.default);
  }
  learnSentences([]);
  speak(next, (await import('./en.json')).default);
}

function speak(next: Locale, texts: Catalog): void {
  catalog = texts;
  locale = next;
  tag = next === 'pt_BR' ? 'pt-BR' : 'en-GB';
  plural = new Intl.PluralRules(tag);
  document.documentElement.lang = next === 'pt_BR' ? 'pt-BR' : 'en';
  // Pages that come without the application are told in the chosen language too.
  if (localStorage.getItem(STORED)) document.cookie = `studio_locale=${next}; path=${mount || '/'}; max-age=31536000; samesite=lax`;
}

export function storeLocale(next: Locale): void {
  localStorage.setItem(STORED, next);
  location.reload();
}

export type Values = Record<string, string | number>;

export function t(key: Key, values?: Values): string {
  const texts = catalog as Record<string, string | undefined>;
  let text = texts[key];
  if (text === undefined && values && typeof values.n === 'number')
    text = texts[`${key}_${plural.select(values.n)}`] ?? texts[`${key}_other`];
  if (text === undefined) return key;
  if (!values) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? value.toLocaleString(tag) : value;
  });
}

/** A text whose key comes from data (a status, a node type); the fallback is the data itself. */
export function tx(key: string, fallback: string): string {
  return (catalog as Record<string, string | undefined>)[key] ?? fallback;
}
