/** Owns remembering that a trace was opened in this browser. */
const READ = 'studio.read';
export function sawTrace(): void {
  try {
    localStorage.setItem(READ, '1');
  } catch {
    /* the guide stays */
  }
}
export const hasSeenTrace = (): boolean => localStorage.getItem(READ) === '1';
