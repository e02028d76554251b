/** Owns what the next run starts with. */
import { create } from 'zustand';
import type { SentFile } from '../parts/files';

export const useComposer = create<{
  text: string;
  files: SentFile[];
  said: string;
  sentFiles: SentFile[];
  state: Record<string, unknown>;
}>(() => ({ text: '', files: [], said: '', sentFiles: [], state: {} }));
export const clearComposer = (): void => useComposer.setState({ text: '', files: [], said: '', sentFiles: [], state: {} });

/** What was not sent is in the box again, before what was written since. */
export const putBack = (message: string, files: SentFile[]): void =>
  useComposer.setState((s) => ({ text: [message, s.text].filter(Boolean).join('\n'), files: [...files, ...s.files] }));
