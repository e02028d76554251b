// Owns the contract of a workflow in code: what an export writes and `Studio.register` takes.

package wfstudio;

/** The contract of a class that is a workflow with the agents that it uses: it has a static method {@code definition()} without parameters that returns a map. */
public interface StudioWorkflow {}
