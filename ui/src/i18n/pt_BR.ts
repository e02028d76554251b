/** Owns the Portuguese texts: those of the pages, and what the engine brings along in English. */
import engine from './pt_BR.engine.json';
import pages from './pt_BR.json';
import warnings from './pt_BR.warnings.json';

export default { ...pages, ...engine };
export { warnings };
