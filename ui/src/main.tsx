import { QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/shell.css';
import { askEarly } from './api/early';
import { tellGone } from './api/connection';
import { queries } from './api/queries';
import { mount } from './api/root';
import { chosenLocale, loadLocale } from './i18n';
import { startSignIn } from './api/sign-in';
import { askOnBack, leave } from './parts/unsaved';
import { startTheme } from './shell/theme';

startTheme();
startSignIn();
// Before the router listens.
askOnBack();
// A file that misses its place does not open in place of the pages.
for (const name of ['dragover', 'drop'] as const)
  window.addEventListener(name, (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
  });
// A tab that was open over an update asks for parts that are gone.
window.addEventListener('vite:preloadError', () => void tellGone());
// The page's address changes while the page stays, and with it what a relative address means.
for (const icon of document.querySelectorAll<HTMLLinkElement>('link[rel=icon]')) icon.setAttribute('href', icon.href);
const root = document.getElementById('studio');
if (root) {
  askEarly();
  await loadLocale(chosenLocale());
  const { App } = await import('./app');
  createRoot(root).render(
    <QueryClientProvider client={queries}>
      <Router
        base={mount}
        aroundNav={(navigate, to, options) => {
          const go = (): void => navigate(to, options);
          if (to.split(/[?#]/)[0] === location.pathname) go();
          else leave(go);
        }}
      >
        <App />
      </Router>
    </QueryClientProvider>,
  );
}
