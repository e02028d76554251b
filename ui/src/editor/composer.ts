/** Owns what the next run starts with. */
import { create } from 'zustand';
import type { Attachment } from '../api/types';

export const useComposer = create<{
  text: string;
  files: Attachment[];
  said: string;
  sentFiles: Attachment[];
  state: Record<string, unknown>;
}>(() => ({ text: '', files: [], said: '', sentFiles: [], state: {} }));
export const clearComposer = (): void => useComposer.setState({ text: '', files: [], said: '', sentFiles: [], state: {} });

/** What was not sent is in the box again, before what was written since. */
export const putBack = (message: string, files: Attachment[]): void =>
  useComposer.setState((s) => ({ text: [message, s.text].filter(Boolean).join('\n'), files: [...files, ...s.files] }));
