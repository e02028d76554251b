// Owns the contract of a tool in code: what an export writes and `Studio.register` takes.

package wfstudio;

/** The contract of a class that is a tool: it has a static method {@code definition()} without parameters that returns a map. */
public interface StudioTool {}
