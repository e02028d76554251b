/** Owns the frame and which page answers which address. */
import { lazy, Suspense, useEffect, type ComponentType, type ReactElement } from 'react';
import { matchRoute, Redirect, Route, Switch, useLocation, useRouter } from 'wouter';
import { Part } from './parts/part';
import { Guard } from './parts/states';
import { LeaveDialog } from './parts/leave-dialog';
import { TipLayer } from './parts/tip';
import { Toasts } from './parts/toast';
import { sawTrace } from './pages/start/seen';
import { openPalette, useCommands } from './shell/commands';
import { Nav, PhoneBar, Rail } from './shell/nav';
import { useWidth } from './shell/place';
import { Strips } from './shell/strips';
import { t } from './i18n';

const Palette = lazy(() => import('./shell/palette'));
const Workflows = lazy(() => import('./pages/workflows/list'));
const Preview = lazy(() => import('./pages/workflows/preview'));
const Editor = lazy(() => import('./pages/workflows/edit'));
const Traces = lazy(() => import('./pages/traces/list'));
const TracePage = lazy(() => import('./pages/traces/detail'));
const CompareTraces = lazy(() => import('./pages/traces/compare'));
const Agents = lazy(() => import('./pages/agents/list'));
const AgentForm = lazy(() => import('./pages/agents/form'));
const Playground = lazy(() => import('./pages/playground/page'));
const Tools = lazy(() => import('./pages/tools/list'));
const ToolForm = lazy(() => import('./pages/tools/form'));
const Mcp = lazy(() => import('./pages/mcp/list'));
const McpForm = lazy(() => import('./pages/mcp/form'));
const Knowledge = lazy(() => import('./pages/knowledge/list'));
const KnowledgeBase = lazy(() => import('./pages/knowledge/base'));
const Templates = lazy(() => import('./pages/templates/page'));
const Usage = lazy(() => import('./pages/usage/page'));
const Settings = lazy(() => import('./pages/settings/page'));
const Missing = lazy(() => import('./pages/missing'));

const LAST = 'studio.last';

/** A page is made anew when the thing in its address changes. */
const keyed =
  (Page: ComponentType<{ id: string }>) =>
  ({ params }: { params: { id?: string } }): ReactElement => <Page key={params.id} id={params.id ?? ''} />;

const routes: [string, ComponentType<{ params: { id?: string } }>][] = [
  ['/workflows/preview', () => <Preview />],
  ['/workflows/:id/edit', keyed(Editor)],
  ['/workflows/traces/:id', keyed(TracePage)],
  ['/workflows/runs/:id', keyed(TracePage)],
  ['/workflows/:id/traces', keyed(Traces as ComponentType<{ id: string }>)],
  ['/traces/compare', () => <CompareTraces />],
  ['/traces/:id', keyed(TracePage)],
  ['/traces', () => <Traces id="" />],
  ['/agents/:id/playground', keyed(Playground)],
  ['/agents/:id', keyed(AgentForm)],
  ['/agents', () => <Agents />],
  ['/tools/:id', keyed(ToolForm)],
  ['/tools', () => <Tools />],
  ['/mcp/:id', keyed(McpForm)],
  ['/mcp', () => <Mcp />],
  ['/knowledge/:id', keyed(KnowledgeBase)],
  ['/knowledge', () => <Knowledge />],
  ['/templates', () => <Templates />],
  ['/usage', () => <Usage />],
  ['/settings', () => <Settings />],
  ['/workflows/:id', ({ params }) => <Redirect to={`/workflows/${params.id ?? ''}/edit`} replace />],
  ['/workflows', () => <Workflows />],
];

export function App(): ReactElement {
  const [location] = useLocation();
  const { parser } = useRouter();
  const width = useWidth();
  const paletteOpen = useCommands((s) => s.open);
  useEffect(() => {
    if (routes.some(([path]) => matchRoute(parser, path, location)[0])) sessionStorage.setItem(LAST, location);
    if (/\/(traces|runs)\/(?!compare)[^/]+$/.test(location)) sawTrace();
  }, [location, parser]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && !event.shiftKey && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
      }
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  const wide = (width === 'full' || width === 'medium') && !location.endsWith('/edit');
  return (
    <div className="app">
      <a
        className="btn pri skip"
        href="#page"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById('page')?.focus();
        }}
      >
        {t('skip')}
      </a>
      {width === 'phone' ? null : wide ? <Nav /> : <Rail />}
      <main className="main" id="page" tabIndex={-1}>
        <Strips />
        <Guard resetKey={location}>
          <Suspense fallback={<div className="page" />}>
            <Switch>
              <Route path="/">
                <Redirect to={sessionStorage.getItem(LAST) ?? '/workflows'} replace />
              </Route>
              {routes.map(([path, Page]) => (
                <Route key={path} path={path} component={Page as never} />
              ))}
              <Route>
                <Missing />
              </Route>
            </Switch>
          </Suspense>
        </Guard>
      </main>
      {width === 'phone' && <PhoneBar />}
      {paletteOpen && (
        <Part loose>
          <Palette />
        </Part>
      )}
      <LeaveDialog />
      <Toasts />
      <TipLayer />
    </div>
  );
}
