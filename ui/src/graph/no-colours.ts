/** Stands for `d3-color` in the build: the canvas moves between numbers only, so no text is ever a colour to it. */
export function color(_text: unknown): null {
  return null;
}
export { color as cubehelix, color as hcl, color as hsl, color as lab, color as rgb };
