import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

/** What every page begins with comes in one file, what several pages share in another: they compress better than many small ones. */
const SHELL = new RegExp(
  [
    'src/api/(client|connection|early|queries|pages|whole|root|sign-in)[.]',
    'bindings/client/src/(requests|problem)[.]',
    'src/i18n/(index|figures)[.]',
    'src/shell/(commands|mark|nav|place|strips|theme|top)[.]',
    'src/parts/(button|dialog|icons|layers|leave-dialog|menu|part|states|tip|toast|unsaved)[.]',
    'src/pages/start/seen[.]',
    'node_modules/(react|react-dom|scheduler|wouter|regexparam|@tanstack|zustand|use-sync-external-store)/',
  ].join('|'),
);
/** What only lists and forms use stays with them. */
const COMMON = new RegExp(
  [
    'src/(parts/(?!definition|form-session|conflict|range|listing|miniature)|run/|api/|shell/)',
    'bindings/client/src/',
    'src/pages/agents/tabs[.]',
    'lucide-react/dist/esm/icons',
  ].join('|'),
);
/** Small ones that are looked at one after another. */
const LISTS = /src\/pages\/(agents|tools|mcp|knowledge)\/list[.]/;
/** What a person opens beside the canvas. */
const PANELS = /src\/editor\/(trial-dialog|trials)[.]/;

export default defineConfig({
  base: './',
  plugins: [react()],
  resolve: {
    alias: {
      // The package as it is written: the pages are its first user.
      '@wfstudio/client': fileURLToPath(new URL('../bindings/client/src/index.ts', import.meta.url)),
      'd3-color': fileURLToPath(new URL('src/graph/no-colours.ts', import.meta.url)),
    },
  },
  worker: { format: 'es' },
  build: {
    outDir: 'dist',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
    target: 'es2022',
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'shell', test: SHELL, priority: 2 },
            { name: 'common', test: COMMON, minShareCount: 2, priority: 1 },
            { name: 'lists', test: LISTS, priority: 1 },
            { name: 'panels', test: PANELS, priority: 1 },
          ],
        },
      },
    },
  },
  test: { environment: 'node', include: ['tests/unit/**/*.test.{ts,tsx}'], watch: false, testTimeout: 30_000, hookTimeout: 30_000 },
});
