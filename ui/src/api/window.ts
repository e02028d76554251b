/** Owns windows of days, as the usage routes take them: days of the configured time zone. */
import { useEffect, useEffectEvent, useState } from 'react';
import { useSettings } from './queries';

const isoDay = (date: Date): string => date.toISOString().slice(0, 10);

/** The day that it is in a time zone. */
export function dayIn(zone: string, at = new Date()): string {
  try {
    const parts = new Intl.DateTimeFormat('en', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(at);
    const part = (type: string): string => parts.find((p) => p.type === type)?.value ?? '';
    return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
  } catch {
    return isoDay(at);
  }
}

/** So many days before or after another one. */
export function plusDays(day: string, n: number): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + n);
  return isoDay(date);
}

export const lastDays = (n: number, today: string): { from: string; to: string } => ({ from: plusDays(today, 1 - n), to: today });

export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < 400; day = plusDays(day, 1)) days.push(day);
  return days;
}

/** Today where the engine counts its days, also after midnight; null until that is known. */
export function useToday(): string | null {
  const { data, isError } = useSettings();
  const zone = data?.keys.find((k) => k.key === 'timezone')?.value;
  const today = (): string => dayIn(typeof zone === 'string' ? zone : 'UTC');
  const [, look] = useState('');
  const tick = useEffectEvent(() => look(today()));
  useEffect(() => {
    const timer = setInterval(() => tick(), 30_000);
    return () => clearInterval(timer);
  }, []);
  return data || isError ? today() : null;
}
