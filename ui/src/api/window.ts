/** Owns windows of days, as the usage routes take them. */
export const isoDay = (date: Date): string => date.toISOString().slice(0, 10);

export function lastDays(n: number, end = new Date()): { from: string; to: string } {
  const from = new Date(end);
  from.setUTCDate(from.getUTCDate() - n + 1);
  return { from: isoDay(from), to: isoDay(end) };
}

export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let day = new Date(`${from}T00:00:00Z`); isoDay(day) <= to && days.length < 400; day.setUTCDate(day.getUTCDate() + 1))
    days.push(isoDay(day));
  return days;
}
