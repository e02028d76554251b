// @vitest-environment jsdom
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { TemplateListed } from '@wfstudio/client';
import { loadLocale } from '../../src/i18n';
import engine from '../../src/i18n/pt_BR.engine.json';
import { bySimplicity, categoriesOf, fits, isFiltered, told, wantedOf } from '../../src/pages/templates/filter';

const one = (id: string, more: Partial<TemplateListed> = {}): TemplateListed => ({
  id,
  type: 'workflow',
  name: id,
  description: '',
  category: 'support',
  complexity: 'basic',
  tags: [],
  agents: [],
  node_types: [],
  source: 'bundled',
  ...more,
});
const all = [
  one('agent-a', { type: 'agent', complexity: null, tags: ['Human'] }),
  one('triage', { complexity: 'advanced', description: 'Three branches', tags: ['human', 'fork'] }),
  one('chat', { category: 'chat' }),
  one('lead', { complexity: 'intermediate', category: 'sales' }),
];
const found = (query: string) => all.filter((x) => fits(x, wantedOf(new URLSearchParams(query)))).map((x) => x.id);

describe('the template browser', () => {
  it('narrows by what the address says', () => {
    expect(found('')).toEqual(['agent-a', 'triage', 'chat', 'lead']);
    expect(found('type=agents')).toEqual(['agent-a']);
    expect(found('type=workflow')).toEqual(['triage', 'chat', 'lead']);
    expect(found('complexity=advanced')).toEqual(['triage']);
    expect(found('category=SUPPORT')).toEqual(['agent-a', 'triage']);
    expect(found('tag=human')).toEqual(['agent-a', 'triage']);
    expect(found('q=+BRANCHES ')).toEqual(['triage']);
    expect(found('type=workflows&category=support&q=fork')).toEqual(['triage']);
    expect(found('q=nothing-like-it')).toEqual([]);
  });

  it('takes words that mean nothing as if they were not there', () => {
    expect(found('type=tools&complexity=impossible')).toHaveLength(4);
    expect(isFiltered(wantedOf(new URLSearchParams('type=tools')))).toBe(false);
    expect(isFiltered(wantedOf(new URLSearchParams('q=a')))).toBe(true);
  });

  it('shows simple ones first and each category once', () => {
    expect(bySimplicity(all).map((x) => x.id)).toEqual(['agent-a', 'chat', 'lead', 'triage']);
    expect(categoriesOf([...all, one('x', { category: '' })], 'en')).toEqual(['chat', 'sales', 'support']);
  });

  it('describes in Portuguese what the studio brings, and leaves a template of the host as it is', async () => {
    const known: Record<string, string> = engine;
    for (const folder of ['agents', 'workflows'])
      for (const file of readdirSync(`../templates/${folder}`)) {
        expect(known[`brought.${file.replace('.json', '')}`], file).toBeTruthy();
        const category = /"category": "([^"]+)"/.exec(readFileSync(`../templates/${folder}/${file}`, 'utf8'))?.[1];
        expect(known[`category.${category}`], file).toBeTruthy();
      }
    await loadLocale('pt_BR');
    const chat = one('basic-agent-chat', { description: 'One agent' });
    expect(told(chat).description).toBe(known['brought.basic-agent-chat']);
    expect(told({ ...chat, source: 'host' }).description).toBe('One agent');
    await loadLocale('en');
    expect(told(chat).description).toBe('One agent');
  });
});
