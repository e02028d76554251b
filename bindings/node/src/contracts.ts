/** Owns the contracts of definitions in code: what an export writes, and what `Studio.register` takes. */

// What a contract asks for is static, which an interface cannot say: `definition()` gives the definition as JSON has it.

/** A workflow with the agents that it uses. */
export interface StudioWorkflow {}
/** An agent. */
export interface StudioAgent {}
/** A tool. */
export interface StudioTool {}

/** A class with a contract. */
export interface Definable {
  readonly name?: string;
  /** Its name, where a bundler shortens the names of classes. */
  readonly className?: string;
  definition(): unknown;
}

export function nameOf(one: Definable): string {
  const name = one.className ?? one.name;
  if (!name) throw new TypeError('a class that is registered has a name');
  return name;
}
