/** Owns light and dark: the person's choice, unless the host forces one. */
import { create } from 'zustand';

export type Theme = 'system' | 'light' | 'dark';
const STORED = 'studio.theme';
export const hostTheme = document.documentElement.dataset.theme as Theme | undefined;

const system = (): 'light' | 'dark' => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
export const useTheme = create<{ theme: Theme; shown: 'light' | 'dark' }>(() => {
  const theme = hostTheme ?? (localStorage.getItem(STORED) as Theme | null) ?? 'system';
  return { theme, shown: theme === 'system' ? system() : theme };
});

export function setTheme(theme: Theme): void {
  localStorage.setItem(STORED, theme);
  apply(theme);
}

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  useTheme.setState({ theme, shown: theme === 'system' ? system() : theme });
}

export function startTheme(): void {
  apply(useTheme.getState().theme);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => apply(useTheme.getState().theme));
}
