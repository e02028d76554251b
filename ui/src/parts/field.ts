/** Owns the field under the hands of a person: what it keeps until it is left is part of what is on screen. */
export function commitField(): void {
  const field = document.activeElement as HTMLElement | null;
  if (!field?.matches?.('input, textarea')) return;
  field.blur();
  if (field.isConnected) field.focus();
}
