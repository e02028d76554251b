# The contracts of exported classes, for checks without the binding.

module StudioWorkflow; end

module StudioAgent; end

module StudioTool; end
