/** Owns one MCP server: how to reach it, whether it answers, which tools it lends. */
import { useMutation } from '@tanstack/react-query';
import { PlugZap } from 'lucide-react';
import type { ReactElement } from 'react';
import { post } from '../../api/client';
import type { McpServer, McpServerTest } from '@wfstudio/client';
import { JsonField } from '../../editor/json-field';
import { t } from '../../i18n';
import { Button } from '../../parts/button';
import { SaveButton, useDefinition } from '../../parts/definition';
import { Check, ListField, NumberField, Switch, TextField } from '../../parts/form';
import { Said } from '../../parts/said';
import { Failure, SkeletonRows } from '../../parts/states';
import { Segments } from '../../parts/tabs';
import { textOf } from '../../parts/toast';
import { Top } from '../../shell/top';

const BLANK: Partial<McpServer> = {
  name: '',
  description: '',
  transport: 'http',
  command: null,
  args: [],
  env: {},
  url: '',
  headers: {},
  token: null,
  only: [],
  exclude: [],
  require_approval: false,
  timeout_ms: 30000,
  enabled: true,
};

export default function McpForm({ id }: { id: string }): ReactElement {
  const editing = useDefinition<McpServer>('mcp-servers', id, BLANK, 'mcp');
  const test = useMutation({ mutationFn: () => post<McpServerTest>(`/api/mcp-servers/${id}/test`) });
  const { value, set, errors, locked } = editing;
  const e = (key: string): string | undefined => errors[key]?.[0];
  const title = editing.fresh ? t('mcp.new') : (editing.saved?.name ?? '…');
  return (
    <>
      <Top crumbs={[{ label: t('nav.mcp'), to: '/mcp' }, { label: title }]} title={title}>
        <SaveButton editing={editing} />
      </Top>
      {editing.error ? (
        <div className="page">
          <Failure error={editing.error} id={id} onRetry={editing.retry} list={{ to: '/mcp', label: t('nav.mcp') }} />
        </div>
      ) : !value ? (
        <div className="page">
          <SkeletonRows />
        </div>
      ) : (
        <div className="page fixed two">
          <div className="scroll">
            <div className="pad">
              <form
                className="form"
                onSubmit={(ev) => {
                  ev.preventDefault();
                  void editing.save();
                }}
              >
                {locked && <div className="note-box">{t('locked')}</div>}
                <section>
                  <h2>{t('sec.basics')}</h2>
                  <div className="grid2">
                    <TextField
                      label={t('name')}
                      value={value.name ?? ''}
                      onChange={(name) => set({ name })}
                      error={e('name')}
                      disabled={locked}
                      autoFocus={editing.fresh}
                    />
                    <TextField
                      label={t('description')}
                      value={value.description ?? ''}
                      onChange={(description) => set({ description })}
                      disabled={locked}
                    />
                  </div>
                  <div className="fl">
                    <span className="lab">{t('mcp.transport')}</span>
                    <Segments<McpServer['transport']>
                      label={t('mcp.transport')}
                      value={value.transport}
                      onChange={(transport) => set({ transport })}
                      options={(['http', 'sse', 'stdio'] as const).map((x) => ({ id: x, label: x, disabled: locked }))}
                    />
                  </div>
                  {value.transport === 'stdio' ? (
                    <>
                      <div className="grid2">
                        <TextField
                          label={t('mcp.command')}
                          mono
                          value={value.command ?? ''}
                          onChange={(command) => set({ command: command || null })}
                          error={e('command')}
                          hint={t('mcp.command.hint')}
                          disabled={locked}
                        />
                        <ListField
                          label={t('mcp.args')}
                          mono
                          value={value.args ?? []}
                          onChange={(args) => set({ args })}
                          disabled={locked}
                        />
                      </div>
                      <JsonField
                        label={t('mcp.env')}
                        value={value.env ?? {}}
                        onChange={(v) => set({ env: (v ?? {}) as Record<string, string> })}
                        error={e('env')}
                        hint={t('toolspage.headers.hint')}
                        disabled={locked}
                        rows={3}
                      />
                    </>
                  ) : (
                    <>
                      <TextField
                        label="URL"
                        mono
                        value={value.url ?? ''}
                        onChange={(url) => set({ url })}
                        error={e('url')}
                        disabled={locked}
                        placeholder="https://"
                      />
                      <div className="grid2">
                        <TextField
                          label={t('mcp.token')}
                          mono
                          value={value.token ?? ''}
                          onChange={(v) => set({ token: v || null })}
                          placeholder="secret:NAME"
                          error={e('token')}
                          disabled={locked}
                        />
                      </div>
                      <JsonField
                        label={t('toolspage.headers')}
                        value={value.headers ?? {}}
                        onChange={(v) => set({ headers: (v ?? {}) as Record<string, string> })}
                        error={e('headers')}
                        hint={t('toolspage.headers.hint')}
                        disabled={locked}
                        rows={3}
                      />
                    </>
                  )}
                </section>
                <section>
                  <h2>{t('toolspage.rules')}</h2>
                  <Check checked={value.enabled !== false} onChange={(enabled) => set({ enabled })} disabled={locked}>
                    {t('mcp.enabled')}
                  </Check>
                  <Check
                    checked={value.require_approval === true}
                    onChange={(require_approval) => set({ require_approval })}
                    disabled={locked}
                    hint={t('mcp.approval.hint')}
                  >
                    {t('mcp.approval')}
                  </Check>
                  <div className="grid2">
                    <ListField
                      label={t('mcp.only')}
                      mono
                      value={value.only ?? []}
                      onChange={(only) => set({ only })}
                      hint={t('mcp.only.hint')}
                      disabled={locked}
                    />
                    <ListField
                      label={t('mcp.exclude')}
                      mono
                      value={value.exclude ?? []}
                      onChange={(exclude) => set({ exclude })}
                      disabled={locked}
                    />
                  </div>
                  <NumberField
                    label={t('key.timeout_ms')}
                    value={value.timeout_ms}
                    min={1}
                    onChange={(n) => set({ timeout_ms: n ?? 30000 })}
                    disabled={locked}
                  />
                </section>
              </form>
            </div>
          </div>
          <aside className="side" aria-label={t('mcp.test')}>
            <div className="row between">
              <h2>{t('mcp.test')}</h2>
              <Button
                icon={PlugZap}
                disabled={test.isPending}
                reason={editing.fresh ? t('toolspage.savefirst') : editing.dirty ? t('toolspage.trysaved') : null}
                onClick={() => test.mutate()}
              >
                {test.isPending ? t('mcp.testing') : t('mcp.connect')}
              </Button>
            </div>
            <div aria-live="polite" className="stack">
              {test.isError && <div className="note-box fail">{textOf(test.error)}</div>}
              {test.data && !test.data.ok && (
                <div className="note-box fail">
                  <Said text={test.data.error ?? t('status.failed')} />
                </div>
              )}
              {test.data?.ok && (
                <>
                  <p className="mut small">
                    {t('mcp.ok', { n: test.data.tools.length })} · <span className="mono">{test.data.protocol_version}</span>
                  </p>
                  <Lent server={value} tools={test.data.tools} onChange={set} locked={locked} />
                </>
              )}
              {!test.data && !test.isError && <p className="mut small">{t('mcp.test.text')}</p>}
            </div>
          </aside>
        </div>
      )}
    </>
  );
}

/** The tools a server lends; switched-off ones go to `exclude`. */
function Lent({
  server,
  tools,
  onChange,
  locked,
}: {
  server: McpServer;
  tools: McpServerTest['tools'];
  onChange: (change: Partial<McpServer>) => void;
  locked: boolean;
}): ReactElement {
  const { only = [], exclude = [] } = server;
  const used = (name: string): boolean => (only.length === 0 || only.includes(name)) && !exclude.includes(name);
  const toggle = (name: string, on: boolean): void =>
    onChange({
      exclude: on ? exclude.filter((x) => x !== name) : [...exclude, name],
      ...(on && only.length && !only.includes(name) ? { only: [...only, name] } : {}),
    });
  return (
    <ul className="stack" style={{ gap: 8 }}>
      {tools.map((tool) => (
        <li key={tool.name}>
          <div className="row">
            <span className="mono trunc" style={{ fontWeight: 600 }}>
              {tool.name}
            </span>
            <span className="sp" />
            {used(tool.name) && (
              <span className={`pill${server.require_approval ? ' wait' : ''}`}>
                {server.require_approval ? t('tools.asks') : t('tools.free')}
              </span>
            )}
            <Switch
              on={used(tool.name)}
              disabled={locked}
              label={t('mcp.use', { name: tool.name })}
              onChange={(on) => toggle(tool.name, on)}
            />
          </div>
          <p className="mut small">{tool.description}</p>
        </li>
      ))}
    </ul>
  );
}
