/** Owns the ways between pages: full list, rail, phone bar. */
import { Languages, Menu as MenuIcon, Moon, Search, Sun } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import { Link, useLocation } from 'wouter';
import { useCounts, useSettings } from '../api/queries';
import { locale, storeLocale, t, type Key } from '../i18n';
import { Button } from '../parts/button';
import { Tip } from '../parts/tip';
import { Dialog } from '../parts/dialog';
import { MenuButton } from '../parts/menu';
import { Icon, PAGE_ICONS } from '../parts/icons';
import { openPalette } from './commands';
import { Mark } from './mark';
import { mod } from './place';
import { hostTheme, setTheme, useTheme } from './theme';

type Page = keyof typeof PAGE_ICONS;
const GROUPS: { label: Key; pages: Page[] }[] = [
  { label: 'nav.build', pages: ['workflows', 'agents', 'tools', 'mcp', 'knowledge', 'templates'] },
  { label: 'nav.observe', pages: ['traces', 'usage'] },
  { label: 'nav.manage', pages: ['settings'] },
];

/** Where the way leads: templates can be switched off. */
export function useGroups(): typeof GROUPS {
  const off = useSettings().data?.flags.templates === false;
  return off ? GROUPS.map((group) => ({ ...group, pages: group.pages.filter((page) => page !== 'templates') })) : GROUPS;
}

function useHere(): (page: Page) => boolean {
  const [location] = useLocation();
  return (page) => {
    if (page === 'traces') return /^\/traces|\/traces/.test(location);
    return location.startsWith(`/${page}`) && !location.includes('/traces');
  };
}

function useWaiting(): number {
  const counts = useCounts().data;
  return (counts?.awaiting_input ?? 0) + (counts?.awaiting_tool_approval ?? 0);
}

export function Nav(): ReactElement {
  const here = useHere();
  const waiting = useWaiting();
  const groups = useGroups();
  return (
    <nav className="nav" aria-label={t('nav.label')}>
      <Link to="/workflows" className="brand">
        <Mark />
        {t('studio')}
      </Link>
      <button type="button" className="field search" onClick={openPalette}>
        <Icon as={Search} />
        <span>{t('search')}</span>
        <span className="sp" />
        <kbd>{mod}K</kbd>
      </button>
      {groups.map((group) => (
        <div key={group.label} className="col" style={{ gap: 1 }}>
          <div className="eyebrow g">{t(group.label)}</div>
          {group.pages.map((page) => (
            <Link key={page} to={`/${page}`} className={`ni${here(page) ? ' on' : ''}`} aria-current={here(page) ? 'page' : undefined}>
              <Icon as={PAGE_ICONS[page]} />
              {t(`nav.${page}`)}
              {page === 'traces' && waiting > 0 && (
                <span className="ct hot">
                  <span aria-hidden="true">{waiting}</span>
                  <span className="sr">{t('waiting.count', { n: waiting })}</span>
                </span>
              )}
            </Link>
          ))}
        </div>
      ))}
      <span className="sp" />
      <div className="row navfoot">
        <LanguageMenu />
        <span className="sp" />
        <ThemeMenu />
      </div>
    </nav>
  );
}

function LanguageMenu({ small }: { small?: boolean }): ReactElement {
  const other = locale === 'en' ? 'pt_BR' : 'en';
  return (
    <MenuButton
      label={small ? t('language') : `${t('language')}: ${t(`language.${locale}`)}`}
      button={
        <Button look="ghost" small icon={Languages} label={t('language')}>
          {small ? undefined : t(`language.${locale}`)}
        </Button>
      }
      entries={[
        { label: t(`language.${locale}`), on: true, onSelect: () => {} },
        { label: t(`language.${other}`), onSelect: () => storeLocale(other) },
      ]}
    />
  );
}

function ThemeMenu(): ReactElement | null {
  const { shown, theme: chosen } = useTheme();
  if (hostTheme) return null;
  const icon = shown === 'dark' ? Sun : Moon;
  return (
    <MenuButton
      label={t('theme')}
      button={<Button look="ghost" small icon={icon} label={t('theme')} />}
      entries={(['system', 'light', 'dark'] as const).map((theme) => ({
        label: t(`theme.${theme}`),
        on: theme === chosen,
        onSelect: () => setTheme(theme),
      }))}
    />
  );
}

export function Rail(): ReactElement {
  const here = useHere();
  const waiting = useWaiting();
  const groups = useGroups();
  return (
    <nav className="rail" aria-label={t('nav.label')}>
      <Link to="/workflows" aria-label={t('studio')}>
        <Mark />
      </Link>
      {groups
        .flatMap((g) => g.pages)
        .map((page) => (
          <Tip key={page} text={t(`nav.${page}`)}>
            <Link
              to={`/${page}`}
              className={`ni${here(page) ? ' on' : ''}`}
              aria-label={t(`nav.${page}`)}
              aria-current={here(page) ? 'page' : undefined}
            >
              <Icon as={PAGE_ICONS[page]} />
              {page === 'traces' && waiting > 0 && <span className="bd" />}
            </Link>
          </Tip>
        ))}
      <span className="sp" />
      <LanguageMenu small />
      <ThemeMenu />
      <button type="button" className="ni" aria-label={t('search')} onClick={openPalette}>
        <Icon as={Search} />
      </button>
    </nav>
  );
}

export function PhoneBar(): ReactElement {
  const here = useHere();
  const waiting = useWaiting();
  const groups = useGroups();
  const [open, setOpen] = useState(false);
  return (
    <nav className="phonebar" aria-label={t('nav.label')}>
      {(['workflows', 'agents', 'traces', 'usage'] as const).map((page) => (
        <Link key={page} to={`/${page}`} className={`ni${here(page) ? ' on' : ''}`} aria-current={here(page) ? 'page' : undefined}>
          <Icon as={PAGE_ICONS[page]} />
          {t(`nav.${page}`)}
          {page === 'traces' && waiting > 0 && <span className="bd" />}
        </Link>
      ))}
      <button type="button" className="ni" aria-expanded={open} onClick={() => setOpen(true)}>
        <Icon as={MenuIcon} />
        {t('nav.more')}
      </button>
      <Dialog open={open} onClose={() => setOpen(false)} title={t('studio')}>
        <div className="phonemenu">
          {groups
            .flatMap((g) => g.pages)
            .map((page) => (
              <Link key={page} to={`/${page}`} onClick={() => setOpen(false)}>
                <Icon as={PAGE_ICONS[page]} />
                {t(`nav.${page}`)}
              </Link>
            ))}
        </div>
        <div className="row">
          <LanguageMenu />
          <ThemeMenu />
          <span className="sp" />
          <Button
            icon={Search}
            onClick={() => {
              setOpen(false);
              openPalette();
            }}
          >
            {t('search')}
          </Button>
        </div>
      </Dialog>
    </nav>
  );
}
