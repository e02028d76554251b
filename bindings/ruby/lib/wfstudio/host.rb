# Owns the host's side: tools and answers as blocks, and the threads on which they run.

module WfStudio
  # A call of the engine to its host, given to blocks that take a first argument.
  class Call
    attr_reader :op, :payload

    def initialize(core, call)
      @core = core
      @id, @op, @payload = call.values_at("call_id", "op", "payload")
      @lock, @told = Mutex.new, ConditionVariable.new
      @cancelled = @begun = false
    end

    def arguments
      payload["arguments"]
    end

    def tenant
      payload["tenant"]
    end

    def user
      payload["user"]
    end

    def [](key)
      payload[key]
    end

    # True once the result is no longer wanted.
    def cancelled?
      @cancelled
    end

    # Waits until the result is no longer wanted, at most so many seconds; says whether that is so.
    def wait(seconds)
      ending = now + seconds
      @lock.synchronize do
        @told.wait(@lock, ending - now) until @cancelled || now >= ending
      end
      @cancelled
    end

    def cancel
      @lock.synchronize do
        @cancelled = true
        @told.broadcast
      end
    end

    # Gives a part of the answer; the block's own result ends it.
    def chunk(part)
      @core.complete(@id, CHUNK, JSON.generate(part, max_nesting: DEEPEST))
    end

    # Runs the block and answers with what it returns, or with its failure. Once: what was told as failed is not run any more.
    def answer
      return unless begin?

      raise Failure, "the call was cancelled before it began; nothing was done" if @cancelled

      result = yield
      ran = @op == HostOps::TOOL_CALL
      @core.complete(@id, DONE, JSON.generate(plain(result), max_nesting: DEEPEST))
    rescue Exception => e # also `exit` and `abort` end only the call
      said = text_of(e)
      ran ? fail_with(unwritten(e, said), ran: true) : fail_with(said)
    end

    # The levels of JSON that the engine reads.
    DEEPEST = 128
    FAILED, DONE, CHUNK = 0, 1, 2
    private_constant :DEEPEST, :FAILED, :DONE, :CHUNK

    private

    # Whether nobody has begun it before.
    def begin?
      @lock.synchronize { !@begun && @begun = true }
    end

    def plain(result)
      result.respond_to?(:as_json) ? result.as_json : result
    end

    def text_of(error)
      error.is_a?(Failure) ? error.message.to_s : "#{error.class}: #{error.message}"
    rescue StandardError # its own text fails
      error.class.to_s
    end

    # A tool that ran must not look like one that failed: whoever reads that calls it again.
    def unwritten(error, said)
      why = error.is_a?(Invalid) ? "the engine does not read it" : said
      "the tool ran, but its result could not be written as JSON (#{why}): return text in UTF-8, finite numbers, lists and maps, at most 16 MiB"
    end

    def fail_with(message, **more)
      text = message.dup.force_encoding(Encoding::UTF_8).scrub[0, 10_000]
      @core.complete(@id, FAILED, JSON.generate({ message: text, **more }))
    rescue Error
      # The engine was closed.
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end

  # Tools, answers and classes of an application.
  class Host
    attr_accessor :around, :executor

    def initialize(threads)
      @threads = threads
      @tools, @declared, @answers, @classes, @schemas = {}, {}, {}, {}, {}
      @around = ->(&work) { work.call }
    end

    def tool(name, schema, declaration, block)
      name = name.to_s
      @tools[name] = block
      @declared[name] = { name: name, input_schema: schema || Host.schema(block), **declaration }
    end

    def answer(operation, block)
      @answers[operation.to_s] = block
    end

    def register(name, definition)
      @classes[name] = definition
    end

    def schemas(named)
      @schemas.merge!(named)
    end

    def declaration
      ops = @answers.keys
      ops |= [HostOps::TOOL_CALL, HostOps::TOOL_CANCEL] unless @tools.empty?
      { ops: ops, tools: @declared.values, schemas: @schemas, classes: @classes }
    end

    # What it answers and gives, by name.
    def names
      declaration.flat_map { |kind, all| all.is_a?(Hash) ? all.keys.map { |one| [kind, one] } : all.map { |one| [kind, one.is_a?(Hash) ? one[:name] : one] } }
    end

    # What takes the calls of one engine.
    def calls(core)
      Calls.new(self, core, @threads)
    end

    # Runs what a call asks for, on the thread of the caller.
    def perform(call)
      call.answer { around.call { call.op == HostOps::TOOL_CALL ? run_tool(call) : @answers.fetch(call.op).call(call.payload, call) } }
    end

    def answers?(operation, name)
      operation == HostOps::TOOL_CALL ? @tools.key?(name) : @answers.key?(operation)
    end

    # A second argument that is not named would stay nil, and a first one is the Call whatever it is called.
    def self.check(name, block)
      return if block.parameters.count { |kind, _| %i[req opt].include?(kind) } < 2

      raise ArgumentError, "the block of the tool `#{name}` takes its arguments by name, as in |order_id:, amount:|; only the call may stand before them"
    end

    # The schema of what a block takes by name: any values, those without a default required.
    def self.schema(block)
      named = block.parameters.select { |kind, _| %i[key keyreq].include?(kind) }
      open = block.parameters.any? { |kind, _| kind == :keyrest }
      { type: "object", properties: named.to_h { |_, name| [name, {}] },
        required: named.filter_map { |kind, name| name if kind == :keyreq }, additionalProperties: open || named.empty? }
    end

    private

    def run_tool(call)
      tool = @tools.fetch(call["name"]) { raise Failure, "there is no tool `#{call["name"]}`" }
      kinds = tool.parameters.map(&:first)
      given = (kinds & %i[key keyreq keyrest]).any? ? (call.arguments || {}).transform_keys(&:to_sym) : {}
      (kinds & %i[req opt]).any? ? tool.call(call, **given) : tool.call(**given)
    end
  end

  # The calls of one engine that are under way.
  class Calls
    def initialize(host, core, threads)
      @host, @core = host, core
      # Threads for each op: who may enter does not wait behind tools and models that take their time.
      @pools = Hash.new { |pools, op| pools[op] = Pool.new(threads, "wfstudio-#{op}") }
      @pools[HostOps::TOOL_CALL] = host.executor if host.executor
      @active = {}
      @lock = Mutex.new
      @closed = false
    end

    def take(told)
      call = Call.new(@core, told)
      id = told["call_id"]
      pool = @lock.synchronize do
        raise Failure, "the studio was closed; nothing was done" if @closed

        @active[id] = call
        @pools[call.op]
      end
      pool.call do
        @host.perform(call)
      ensure
        @lock.synchronize { @active.delete(id) }
      end
    rescue StandardError => e # an executor that takes no more; this thread has to go on
      @lock.synchronize { @active.delete(id) }
      call&.answer { raise e }
    end

    def idle?
      @lock.synchronize { @active.empty? }
    end

    # No more calls come; those under way are told that nobody waits.
    def close
      pools, active = @lock.synchronize do
        @closed = true
        [@pools.values, @active.values]
      end
      pools.each { |pool| pool.close if pool.is_a?(Pool) }
      active.each(&:cancel)
    end

    # Tells a call that nobody waits for it any more, if it is one of these.
    def cancel(id)
      @lock.synchronize { @active[id] }&.cancel
    end
  end
end
