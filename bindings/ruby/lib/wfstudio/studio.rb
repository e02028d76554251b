# Owns the studio as applications use it: opened once, used in every process, told what the host answers.

module WfStudio
  # An engine with its tools. It may be opened before a fork and is used in each child without anything else.
  class Studio
    READS = %w[GET HEAD].freeze

    attr_reader :host

    # `config` has the keys of the configuration, dotted ones nested. One `name` is one engine in a process.
    def initialize(config = {}, name: nil, threads: 8)
      @config, @name = config, name
      @host = Host.new(threads)
      @lock = Mutex.new
      @core = nil
      @closed = @declared = false
    end

    # Makes a block a tool. Its arguments come by name; a block with a first argument gets the Call too. Without `schema` that of its names is declared.
    def tool(name, description: "", schema: nil, require_approval: false, idempotent: false, timeout_ms: nil, &block)
      raise ArgumentError, "a tool has a block" unless block

      Host.check(name, block)
      declaration = { description: description, require_approval: require_approval, idempotent: idempotent, timeout_ms: timeout_ms }
      declare { @host.tool(name, schema, declaration, block) }
    end

    # Makes a block the answer to an op such as `gate` or `secret.get`: payload (and Call) in, result out.
    def answer(operation, &block)
      declare { @host.answer(operation, block) }
    end

    # Schemas by name, for nodes and agents that refer to them.
    def schemas(**named)
      declare { @host.schemas(named) }
    end

    # Registers classes with a contract: they are listed and run, and nobody can write them in the studio.
    def register(*classes)
      classes.each do |one|
        contract = [StudioWorkflow, StudioAgent, StudioTool].any? { |contract| one.include?(contract) }
        raise ArgumentError, "#{one} includes none of StudioWorkflow, StudioAgent, StudioTool" unless contract

        declare { @host.register(one.name, one.definition) }
      end
    end

    # One operation, such as `trace.list`.
    def call(operation, **request)
      answered(core.start(operation.to_s, JSON.generate(request)))
    end

    # Runs `workflow:` or `agent:` and gives its events.
    def run(**request)
      Run.new(core.start(Ops::RUN, JSON.generate(request)))
    end

    # Answers a pause and gives the events that follow.
    def resume(trace_id = nil, **answer)
      request = trace_id ? { trace_id: trace_id, **answer } : answer
      Run.new(core.start(Ops::RESUME, JSON.generate(request)))
    end

    def trace(trace_id, **request)
      call(Ops::TRACE_GET, trace_id: trace_id, **request)
    end

    # What runs used and cost; `run:` for one.
    def usage(**query)
      call(query.key?(:run) ? Ops::USAGE_RUN : Ops::USAGE_QUERY, **query)
    end

    # A request: the head of `studio_http`, and its body. The answer's stream has the head first. One that only reads takes this thread, unless other
    # fibres need it, or the application may be asked meanwhile, as about a gate that is nil: that can take seconds, in which nothing would end this
    # thread.
    def http(head, body = nil)
      here = READS.include?(head[:method]) && body.nil? && Fiber.scheduler.nil? && !head[:gate].nil? && !asks_for_secrets?(head[:path])
      return core.http(JSON.generate(head)) if here

      core.start(Ops::HTTP, JSON.generate(head), body)
    end

    # Where requests of the studio begin, such as `/studio`.
    def mounts
      @mounts ||= call(Ops::ABOUT).fetch("mounts")
    end

    # The Rack application; see Mount.
    def rack(**marks)
      Mount.new(self, **marks)
    end

    # Starts the workers of this process without asking for anything.
    def start
      call(Ops::START)
    end

    # Works on queued runs and answers their calls until SIGTERM or SIGINT.
    def work
      ended = false
      before = %w[TERM INT].to_h { |signal| [signal, trap(signal) { ended = true }] }
      start
      # A handler runs when the main thread wakes up, whichever thread the signal reached.
      sleep 0.2 until ended
      close
    ensure
      before&.each { |signal, handler| trap(signal, handler || "DEFAULT") }
    end

    # Ends its streams and puts runs down so that they can be taken up again.
    def close(timeout = 10)
      core = @lock.synchronize do
        @closed = true
        @core
      end
      core.close(timeout) if core && core.pid == Process.pid
    end

    def closed?
      @closed
    end

    private

    # Pages and their files need no secret.
    def asks_for_secrets?(path)
      path.to_s.match?(%r{%|/api/}) && core.answers?(HostOps::SECRET_GET)
    end

    # The engine of this process, with everything declared.
    def core
      core = @core
      return core if core && (@declared || @closed) && core.pid == Process.pid

      @lock.synchronize do
        raise Closed, "the studio was closed" if @closed

        if @core.nil? || @core.pid != Process.pid
          @core, @declared = Core.open(@config, @name), false
        end
        @core.declare(@host, self) unless @declared
        @declared = true
        @core
      end
    end

    def declare
      @lock.synchronize do
        yield
        @declared = false
      end
    end

    def answered(stream)
      stream.head
    ensure
      stream.close
    end
  end
end
