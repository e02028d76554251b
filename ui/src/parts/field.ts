/** Owns the field under the hands of a person: what it keeps until it is left is part of what is on screen. */
export function commitField(): void {
  const field = document.activeElement as HTMLElement | null;
  if (!field?.matches?.('input, textarea')) return;
  field.blur();
  if (field.isConnected) field.focus();
}

/** True where a text of this part is no JSON yet: nothing else has it, and a person is led to it. */
export function unread(part = 'dialog[open]'): boolean {
  const field = document.querySelector<HTMLElement>(`${part} [data-unread]`);
  field?.focus();
  return field !== null;
}
