/** Owns the table of how the library is found. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { UnsupportedPlatform } from '../dist/errors.js';
import { ABI_VERSION } from '../dist/generated.js';
import { find } from '../dist/library.js';

const BUNDLED = '/app/node_modules/@wfstudio/lib-linux-x64/libwfstudio.so';

/** A machine where `loads` can be loaded and the packages of `installed` are there. */
function machine({ loads = {}, installed = [], warned = [], ...more }) {
  return {
    environment: {},
    platform: 'linux',
    arch: 'x64',
    mapped: ['/usr/bin/node', '/lib/x86_64-linux-gnu/libc.so.6', '/lib64/ld-linux-x86-64.so.2'],
    version: '0.1.0',
    bundled: (name) => {
      if (!installed.includes(name)) throw new Error('not found');
      return `/app/node_modules/${name}/libwfstudio.so`;
    },
    load: (path) => {
      if (!(path in loads)) throw new Error('cannot open shared object file');
      return { abi: ABI_VERSION, version: '0.1.0', ...loads[path] };
    },
    versions: (library) => {
      if (library.none) throw new Error('undefined symbol: studio_abi_version');
      return library;
    },
    warn: (message) => warned.push(message),
    ...more,
  };
}

const found = (from) => find(machine(from)).path;
const refused = (from, ...texts) => {
  assert.throws(
    () => find(machine(from)),
    (failed) => {
      assert.ok(failed instanceof UnsupportedPlatform, failed.stack);
      for (const text of texts) assert.ok(failed.message.includes(text), `${text} in: ${failed.message}`);
      return true;
    },
  );
};

test('the environment names it, and nothing else is tried then', () => {
  assert.equal(found({ environment: { WFSTUDIO_LIBRARY: '/opt/a.so' }, loads: { '/opt/a.so': {} } }), '/opt/a.so');
  const all = { loads: { [BUNDLED]: {} }, installed: ['@wfstudio/lib-linux-x64'] };
  refused({ ...all, environment: { WFSTUDIO_LIBRARY: '/opt/gone.so' } }, '/opt/gone.so', 'cannot open shared object file', 'linux-x64');
  refused({ ...all, environment: { WFSTUDIO_LIBRARY: './a.so' } }, 'absolute');
});

test('the package of this platform comes before the system', () => {
  assert.equal(found({ loads: { [BUNDLED]: {}, 'libwfstudio.so.1': {} }, installed: ['@wfstudio/lib-linux-x64'] }), BUNDLED);
  assert.equal(found({ loads: { 'libwfstudio.so.1': {} } }), 'libwfstudio.so.1');
  assert.equal(found({ loads: { 'libwfstudio.so.1': {} }, installed: ['@wfstudio/lib-linux-x64'] }), 'libwfstudio.so.1');
});

test('musl is told by the loader that is mapped', () => {
  const mapped = ['/bin/node', '/lib/ld-musl-x86_64.so.1'];
  refused({ mapped, installed: ['@wfstudio/lib-linux-x64'], loads: { [BUNDLED]: {} } }, 'linux-x64-musl', '@wfstudio/lib-linux-x64-musl');
});

test('one error names each place, the platform and what to do', () => {
  refused(
    { arch: 'arm64' },
    'linux-arm64',
    'package @wfstudio/lib-linux-arm64: not installed',
    'libwfstudio.so.1 of the system: ',
    'npm install @wfstudio/lib-linux-arm64@0.1.0',
  );
  refused({ platform: 'win32' }, 'win32-x64', 'npm install @wfstudio/lib-win32-x64@0.1.0');
});

test('another version of the functions or of a bundled library is refused', () => {
  const installed = ['@wfstudio/lib-linux-x64'];
  const [major, minor] = [ABI_VERSION >> 16, ABI_VERSION & 0xffff];
  refused({ installed, loads: { [BUNDLED]: { abi: ((major + 1) << 16) | minor } } }, `${major + 1}.${minor}`, 'needs');
  refused({ installed, loads: { [BUNDLED]: { abi: major << 16 } } }, `${major}.0`, 'needs');
  assert.equal(found({ installed, loads: { [BUNDLED]: { abi: (major << 16) | (minor + 1) } } }), BUNDLED);
  refused({ installed, loads: { [BUNDLED]: { version: '0.2.0' } } }, '0.2.0', '0.1.0', 'same version');
  refused({ installed, loads: { [BUNDLED]: { none: true } } }, 'no library of Workflow Studio', 'undefined symbol');
  const warned = [];
  assert.equal(found({ warned, loads: { 'libwfstudio.so.1': { version: '0.2.0' } } }), 'libwfstudio.so.1');
  assert.equal(warned.length, 1);
});

test('a second copy in the process is refused, and the first is used again', () => {
  const mapped = ['/usr/lib/libwfstudio.so.1'];
  refused({ mapped, installed: ['@wfstudio/lib-linux-x64'], loads: { [BUNDLED]: {} } }, '/usr/lib/libwfstudio.so.1', BUNDLED);
  refused({ mapped, environment: { WFSTUDIO_LIBRARY: '/opt/a.so' }, loads: { '/opt/a.so': {} } }, '/usr/lib/libwfstudio.so.1', '/opt/a.so');
  assert.equal(found({ mapped, loads: { '/usr/lib/libwfstudio.so.1': {} } }), '/usr/lib/libwfstudio.so.1');
  // An installation has put another file in its place.
  refused(
    { mapped: ['/opt/libwfstudio.so (deleted)'], environment: { WFSTUDIO_LIBRARY: '/opt/libwfstudio.so' } },
    '(deleted) loaded',
    'second copy',
  );
});
