# Owns one opened engine in one process: one thread waits for its news and wakes whoever reads, calls to the host run on others.

require "weakref"

module WfStudio
  # Threads that come when there is work, up to a number.
  class Pool
    def initialize(size, name)
      @size, @name = size, name
      @jobs = Thread::Queue.new
      @threads = []
      @lock = Mutex.new
    end

    def call(&job)
      @jobs << job
      @lock.synchronize do
        @threads << worker if @threads.size < @size && @jobs.num_waiting < @jobs.size
      rescue ThreadError
        raise if @threads.empty? # otherwise those that are there come to it
      end
    end

    def close
      @jobs.close
    end

    private

    def worker
      Thread.new do
        Thread.current.name = @name
        while (job = @jobs.pop)
          job.call
        end
      ensure # also of a thread that a call has ended: another takes what waits
        @lock.synchronize do
          @threads.delete(Thread.current)
          @threads << worker unless @jobs.empty?
        rescue ThreadError
          # The program ends, or has no thread: the next call makes one.
        end
      end
    end
  end

  # An engine as long as this process uses it. A forked child makes another.
  class Core
    ROOM = 64

    attr_reader :pid, :dropped

    @opened, @opening = {}, Mutex.new

    # The one core of an engine in this process: two that wait for one engine would take each other's news.
    def self.open(config, name)
      Native.library
      # Without a configuration it is the engine of that name as it is.
      text = Native.lent(config.empty? ? nil : JSON.generate(config))
      @opening.synchronize do
        @opened.delete_if { |_, core| core.pid != Process.pid || core.over? }
        engine = name ? Native.opened(:studio_engine_shared, name, *text) : Native.opened(:studio_engine_open, *text)
        @opened[engine] ||= new(engine)
      end
    end

    def initialize(engine)
      @pid = Process.pid
      @engine = engine
      @mailboxes, @calls, @studios = {}, {}, {}
      @dropped = Thread::Queue.new # handles of streams that nobody holds any more: their finalizers may take no lock
      @lock = Mutex.new
      @waiter = nil
    end

    # Declares what a host answers, beside those that studios of the same name have; what was declared last wins.
    def declare(host, studio)
      all = @lock.synchronize do
        @studios[host] ||= WeakRef.new(studio)
        @calls = wanted({ **@calls, host => @calls[host] || host.calls(self) })
        @calls.keys.map(&:declaration)
      end
      tools = all.flat_map { |one| one[:tools] }.to_h { |tool| [tool[:name], tool] }.values
      named = %i[schemas classes].to_h { |key| [key, all.map { |one| one[key] }.reduce({}, :merge)] }
      text = JSON.generate({ ops: all.flat_map { |one| one[:ops] }.uniq, tools: tools, **named })
      Native.check(Native.studio_host_set(@engine, *Native.lent(text), nil, nil, nil))
    end

    # Hosts whose studio is gone are let go, once later ones answer all that they answered.
    def wanted(calls)
      later = []
      calls.to_a.reverse.select do |host, one|
        names = host.names
        left = !@studios[host].weakref_alive? && one.idle? && (names - later).empty?
        later |= names
        next true unless left

        one.close
        @studios.delete(host)
        false
      end.reverse.to_h
    end
    private :wanted

    def over?
      @mailboxes.nil?
    end

    # Begins an operation; what it answers is to be read.
    def start(operation, request, body = nil)
      streamed(:studio_start, operation, *Native.lent(request), *Native.lent(body))
    end

    # Has a request answered on this thread, as far as that goes: no other has to be woken. A body that is text comes with the head.
    def http(request)
      streamed(:studio_http, *Native.lent(request), nil, 0)
    end

    # Whether a host of this engine answers an operation.
    def answers?(operation)
      @calls.each_key.any? { |host| host.answers?(operation, nil) }
    end

    # Answers a call of the engine; false when nobody waits for it any more.
    def complete(call_id, kind, text)
      code = Native.studio_host_complete(@engine, call_id, kind, *Native.lent(text))
      error = ERRORS[code]
      return error.nil? unless error == Invalid

      raise Error.of(code, nil)
    end

    # Where a stream's reader waits.
    def watch(handle)
      mailbox = Thread::Queue.new
      @lock.synchronize do
        @mailboxes&.delete(@dropped.pop) until @dropped.empty?
        @mailboxes ? @mailboxes[handle] = mailbox : mailbox.close
      end
      mailbox
    end

    def unwatch(handle)
      @lock.synchronize { @mailboxes&.delete(handle) }&.close
    end

    def close(timeout)
      code = Native.studio_engine_close(@engine, (timeout * 1000).to_i)
      @waiter&.join(timeout)
      Native.check(code) unless [Closed, BadHandle].include?(ERRORS[code])
    end

    private

    # What a function answers that gives a stream, a head, or both.
    def streamed(function, *arguments)
      wait_for_news
      handle = FFI::MemoryPointer.new(:uint64)
      code, head = Native.filled(function, @engine, *arguments, handle)
      raise Error.of(code, head) if code.negative?

      stream = Stream.new(self, handle.read_uint64, head)
    ensure # a thread may be interrupted as soon as the answer is there
      if stream.nil? && handle&.read_uint64&.positive?
        Native.studio_stream_close(handle.read_uint64)
        unwatch(handle.read_uint64)
      end
    end

    def wait_for_news
      return if @waiter

      @lock.synchronize do
        @waiter ||= Thread.new do
          Thread.current.name = "wfstudio-news"
          Thread.current.report_on_exception = true
          news
        end
      end
    end

    def news
      handles, count = FFI::MemoryPointer.new(:uint64, ROOM), FFI::MemoryPointer.new(:size_t)
      until Native.studio_ready(@engine, -1, handles, ROOM, count).negative?
        handles.read_array_of_type(:uint64, :read_uint64, count.get(:size_t, 0)).each { |handle| told(handle) }
      end
    ensure
      left, calls = @lock.synchronize { [@mailboxes, @calls].tap { @mailboxes, @calls, @studios = nil, {}, {} } }
      calls.each_value(&:close)
      left.each_value(&:close)
    end

    def told(handle)
      return fetch if handle.zero?

      mailbox = @lock.synchronize { @mailboxes[handle] }
      mailbox << true if mailbox && !mailbox.closed?
    rescue ClosedQueueError
      # Its reader has just left.
    rescue StandardError => e
      warn "wfstudio: news could not be handed on: #{e.full_message}"
    end

    def fetch
      loop do
        code, bytes = Native.filled(:studio_host_next, @engine, 0)
        break unless code == Native::STUDIO_OK || code == Native::STUDIO_HOST_CALL

        begin
          take(JSON.parse(bytes, max_nesting: false))
        rescue StandardError => e # the next calls are fetched all the same
          warn "wfstudio: a call could not be taken: #{e.full_message}"
          id = bytes[/"call_id":(\d+)/, 1]
          complete(id.to_i, 0, JSON.generate({ message: "the host could not take the call; nothing was done" })) if id
        end
      end
    end

    def take(told)
      operation, name = told["op"], told.dig("payload", "name")
      calls = @calls.to_a.reverse
      calls.each { |_, one| one.cancel(told["payload"]["cancels"]) } if operation == HostOps::TOOL_CANCEL
      found = calls.find { |host, _| host.answers?(operation, name) } || (calls.first if operation == HostOps::TOOL_CALL)
      found&.last&.take(told)
    end
  end
end
