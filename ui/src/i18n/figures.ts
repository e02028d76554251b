/** Owns how figures read: money as decimal text, durations, sizes, times. No float touches money. */
import { tag, t } from './index';

/** Decimal text with any number of fraction digits, grouped; never converted to a number. */
export function decimal(text: string, digits = 6): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (!match) return text;
  const [, sign = '', whole = '0', fraction = ''] = match;
  const { int, frac } = round(whole, fraction, digits);
  const { group, point } = marks();
  const grouped = int.replace(/\B(?=(\d{3})+$)/g, group);
  return sign + grouped + (digits > 0 ? point + frac : '');
}

/** Decimal text with as many fraction digits as it has. */
export const exact = (text: string): string => decimal(text, text.split('.')[1]?.length ?? 0);

let known: { tag: string; group: string; point: string } | null = null;
function marks(): { group: string; point: string } {
  if (known?.tag === tag) return known;
  const parts = new Intl.NumberFormat(tag).formatToParts(1234.5);
  known = { tag, group: parts.find((p) => p.type === 'group')?.value ?? ',', point: parts.find((p) => p.type === 'decimal')?.value ?? '.' };
  return known;
}

const formats = new Map<string, Intl.NumberFormat>();
/** Formats cost much to make and little to use. */
function format(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${tag}${options.style}${options.minimumFractionDigits}${options.maximumFractionDigits}`;
  let made = formats.get(key);
  if (!made) formats.set(key, (made = new Intl.NumberFormat(tag, options)));
  return made;
}

function round(whole: string, fraction: string, digits: number): { int: string; frac: string } {
  const padded = fraction.padEnd(digits + 1, '0');
  let units = BigInt(whole + padded.slice(0, digits));
  if ((padded[digits] ?? '0') >= '5') units += 1n;
  const text = units.toString().padStart(digits + 1, '0');
  return { int: text.slice(0, text.length - digits), frac: digits ? text.slice(-digits) : '' };
}

const SYMBOLS: Record<string, string> = { USD: 'US$', BRL: 'R$', EUR: '€', GBP: '£' };
export const symbol = (currency = 'USD'): string => SYMBOLS[currency] ?? currency;

export const money = (text: string | null | undefined, currency = 'USD', digits = 6): string =>
  text == null ? '–' : `${symbol(currency)} ${decimal(text, digits)}`;

/** Millionths, for adding and comparing; the wire always has six digits. */
export function micros(text: string | null | undefined): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,6}))?/.exec(text ?? '');
  if (!match) return 0n;
  const value = BigInt((match[2] ?? '0') + (match[3] ?? '').padEnd(6, '0'));
  return match[1] ? -value : value;
}

/** True of what was used and has no price: its cost is not known, so it is never told as 0. */
export const priceless = (entry: { estimated_cost?: string; unpriced?: boolean } | null | undefined): boolean =>
  entry?.unpriced === true && micros(entry.estimated_cost) === 0n;

export function fromMicros(value: bigint): string {
  const sign = value < 0n ? '-' : '';
  const text = (value < 0n ? -value : value).toString().padStart(7, '0');
  return `${sign}${text.slice(0, -6)}.${text.slice(-6)}`;
}

export const sumMoney = (texts: (string | null | undefined)[]): string => fromMicros(texts.reduce((sum, text) => sum + micros(text), 0n));

/** A quotient of exact figures, half up, with six digits. */
export function divideMoney(text: string, by: number): string {
  if (by <= 0) return '0.000000';
  const d = BigInt(by);
  return fromMicros((micros(text) * 2n + d) / (d * 2n));
}

/** Share in tenths of a percent, as text. */
export function share(part: bigint, whole: bigint): string {
  if (whole === 0n) return '–';
  return percent(Number((part * 1000n) / whole) / 1000);
}

export const percent = (ratio: number, digits = 1): string => format({ style: 'percent', maximumFractionDigits: digits }).format(ratio);
export const count = (value: number | null | undefined): string => (value == null ? '–' : format({}).format(value));

export function compact(value: number | null | undefined): string {
  if (value == null) return '–';
  return value < 10000
    ? count(value)
    : new Intl.NumberFormat(tag === 'en-GB' ? 'en' : tag, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

const fixed = (value: number, digits: number): string =>
  format({ minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);

export function duration(ms: number | null | undefined): string {
  if (ms == null) return '–';
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${fixed(ms / 1000, ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : t('days', { n: Math.floor(hours / 24) });
}

export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const rest = String(seconds % 60).padStart(2, '0');
  return seconds < 3600
    ? `${Math.floor(seconds / 60)}:${rest}`
    : `${Math.floor(seconds / 3600)}:${String(Math.floor(seconds / 60) % 60).padStart(2, '0')}:${rest}`;
}

export function bytes(size: number | null | undefined): string {
  if (size == null) return '–';
  if (size < 1024) return `${size} B`;
  return size < 1024 * 1024 ? `${Math.round(size / 1024)} KB` : `${fixed(size / 1024 / 1024, 1)} MB`;
}

export const dateTime = (text: string | null | undefined): string =>
  text ? new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(text)) : '–';
export const day = (text: string, options: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' }): string =>
  new Intl.DateTimeFormat(tag, { ...options, timeZone: text.length === 10 ? 'UTC' : undefined }).format(new Date(text));

/** Two days as one span: `22 Oct – 20 Nov 2026`. */
export const dayRange = (from: string, to: string): string =>
  new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }).formatRange(
    new Date(from),
    new Date(to),
  );

export function ago(text: string | null | undefined, now = Date.now()): string {
  if (!text) return '–';
  const seconds = Math.round((new Date(text).getTime() - now) / 1000);
  const format = new Intl.RelativeTimeFormat(tag, { numeric: 'auto', style: 'short' });
  if (seconds > -45) return t('now');
  if (seconds > -3600) return format.format(Math.round(seconds / 60), 'minute');
  if (seconds > -86400) return format.format(Math.round(seconds / 3600), 'hour');
  if (seconds > -86400 * 8) return format.format(Math.round(seconds / 86400), 'day');
  return day(text, { day: 'numeric', month: 'short', year: 'numeric' });
}

export const shortId = (id: string | null | undefined): string => (id ? id.replaceAll('-', '').slice(-8) : '–');
