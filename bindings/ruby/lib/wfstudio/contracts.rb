# Owns the contracts of definitions in code: what an export writes, and what `Studio#register` takes.

# A workflow with the agents that it uses: a class with `self.definition`.
module StudioWorkflow; end

# An agent: a class with `self.definition`.
module StudioAgent; end

# A tool: a class with `self.definition`.
module StudioTool; end
