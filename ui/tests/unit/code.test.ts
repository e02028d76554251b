import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

vi.stubGlobal('document', { querySelector: () => null, documentElement: { dataset: {}, lang: 'en' } });
vi.stubGlobal('location', { href: 'http://x/studio/', pathname: '/studio/' });
vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined });

const { fileForImport, madePath, offKey, previewPath, targetOf } = await import('../../src/code/targets');
const { pieces } = await import('../../src/code/source');
const { reasonsOf } = await import('../../src/code/import-wrong');
const { Problem } = await import('@wfstudio/client');

const settings = (flags: Record<string, boolean>, target?: string) => ({
  flags,
  keys: target ? [{ key: 'codegen.target', value: target, source: 'config' as const, gates: null }] : [],
  observability: [],
});

describe('what is switched off', () => {
  it('is told by the key that does it', () => {
    const none = settings({ canExport: false, canPreview: false, canImport: false });
    expect([offKey(none, 'canExport'), offKey(none, 'canPreview'), offKey(none, 'canImport')]).toEqual(Array(3).fill('codegen.enabled'));
    const some = settings({ canExport: false, canPreview: true, canImport: true });
    expect([offKey(some, 'canExport'), offKey(some, 'canPreview'), offKey(some, 'canImport')]).toEqual(['codegen.export', null, null]);
    expect(offKey(settings({ canExport: true, canPreview: false, canImport: true }), 'canPreview')).toBe('codegen.preview');
    expect(offKey(undefined, 'canExport')).toBeNull();
  });

  it('leaves the language to the address, then to the configuration', () => {
    expect(targetOf('rust', settings({}, 'kotlin'))).toBe('rust');
    expect(targetOf(null, settings({}, 'kotlin'))).toBe('kotlin');
    expect(targetOf('cobol', settings({}))).toBe('php');
    expect(targetOf('', undefined)).toBe('php');
  });
});

describe('what can be imported', () => {
  it('has a page named by its class or its file', () => {
    expect(previewPath({ ref: 'class:App\\Studio\\Workflows\\A' })).toBe('/workflows/preview?class=App%5CStudio%5CWorkflows%5CA');
    expect(previewPath({ ref: 'json:flows/a b.json' })).toBe('/workflows/preview?json=flows%2Fa+b.json');
    expect(previewPath({ ref: 'class:studio::workflows::A' })).toBe('/workflows/preview?class=studio%3A%3Aworkflows%3A%3AA');
  });

  it('leads to what was made', () => {
    expect(madePath({ workflow: { id: '7' } as never })).toBe('/workflows/7/edit');
    expect(madePath({ agent: { id: '8' } as never })).toBe('/agents/8');
    expect(madePath({ tool: { id: '9' } as never })).toBe('/tools/9');
  });

  it('is a file, or a graph with the name of its file', () => {
    const graph = { version: 1, nodes: [], edges: [] };
    expect(fileForImport(JSON.stringify({ meta: { name: 'A' }, graph }), 'b.json')).toEqual({ json: { meta: { name: 'A' }, graph } });
    expect(fileForImport(JSON.stringify(graph), 'Lead triage.JSON')).toEqual({ json: { meta: { name: 'Lead triage' }, graph } });
    expect(fileForImport(JSON.stringify(graph), null)).toEqual({ json: graph });
    expect(fileForImport('{"nodes"', null)).toEqual({ wrong: 'json' });
    for (const text of ['[]', 'null', '7', '"a"', '{}', '{"graph": 7}']) expect(fileForImport(text, null)).toEqual({ wrong: 'graph' });
  });

  it('is refused with its reasons', () => {
    const problem = (status: number, code: string, more: object) => new Problem({ status, code, title: '', detail: 'no', ...more });
    const issues = [{ file: 'a.php', line: 3, message: 'call found' }];
    expect(reasonsOf(problem(422, 'import_invalid', { issues }))).toEqual(issues);
    expect(reasonsOf(problem(422, 'validation_failed', { errors: { agents: ['no agent `x`'] } }))).toEqual([{ message: 'no agent `x`' }]);
    expect(reasonsOf(problem(404, 'not_found', {}))).toEqual([]);
    expect(reasonsOf(new Error('offline'))).toEqual([]);
  });
});

describe('source text', () => {
  const kinds = (text: string) =>
    pieces(text)
      .filter((p) => p.kind)
      .map((p) => `${p.kind} ${p.text}`);

  it('is whole, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'"\'#/*\\ra1.\n `rTrue[]{}!é') }), (text) => {
        expect(
          pieces(text)
            .map((p) => p.text)
            .join(''),
        ).toBe(text);
      }),
    );
  });

  it('shows strings, comments, numbers and words', () => {
    expect(kinds(`return ['it\\'s # no // comment' => 1.5]; // "done"`)).toEqual([
      'w return',
      `s 'it\\'s # no // comment'`,
      'nu 1.5',
      'co // "done"',
    ]);
    expect(kinds('# studio\nclass A:\n    return {"a": None, "b": """x "y" z"""}')).toEqual([
      'co # studio',
      'w class',
      'w return',
      's "a"',
      'w None',
      's "b"',
      's """x "y" z"""',
    ]);
    expect(kinds('#[derive(Debug)]\npub struct A; r#"a "quoted" b"# "#{x}"')).toEqual([
      'w pub',
      'w struct',
      's r#"a "quoted" b"#',
      's "#{x}"',
    ]);
    expect(kinds('#"a "b" c"#')).toEqual(['s #"a "b" c"#']);
  });
});
