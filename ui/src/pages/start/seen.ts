/** Owns remembering that a trace was opened in this browser. */
const READ = 'studio.read';
export const sawTrace = (): void => localStorage.setItem(READ, '1');
export const hasSeenTrace = (): boolean => localStorage.getItem(READ) === '1';
