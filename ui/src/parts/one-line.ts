/** Owns Markdown as plain text: without its marks, for titles and previews in one line. */
const MARKS: [RegExp, string][] = [
  [/^\s*(?:#{1,6}|>|[-*+]|```\w*)(?:\s+|$)/gm, ''],
  [/!?\[([^\]]*)\]\([^)]*\)/g, '$1'],
  [/`+/g, ''],
  [/(?<!\w)(?:\*\*|__|~~)(?=\S)|(?<=\S)(?:\*\*|__|~~)(?!\w)/g, ''],
  [/(?<![\w*])\*(?=\S)([^*]*\S)\*(?![\w*])/g, '$1'],
];

export const unmarked = (text: string): string => MARKS.reduce((line, [mark, instead]) => line.replace(mark, instead), text);
export const oneLine = (text: string): string => unmarked(text).replace(/\s+/g, ' ').trim();
