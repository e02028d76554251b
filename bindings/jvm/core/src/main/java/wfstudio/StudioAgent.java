// Owns the contract of an agent in code: what an export writes and `Studio.register` takes.

package wfstudio;

/** The contract of a class that is an agent: it has a static method {@code definition()} without parameters that returns a map. */
public interface StudioAgent {}
