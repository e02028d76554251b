# Owns answers that are still coming: pieces as the library gives them, and the events of a run.

module WfStudio
  # An answer of the engine. It has one reader, which waits without holding up other threads or fibres.
  class Stream
    # `head` is there already where the request was answered at once; without a handle it has all of the answer.
    def initialize(core, handle, head = nil)
      @core, @handle = core, handle
      @head = head && JSON.parse(head, max_nesting: false)
      @text = @head&.delete("body")
      @ended, @over = handle.zero?, false
      return if @ended

      @mailbox = core.watch(handle)
      ObjectSpace.define_finalizer(self, Stream.closing(handle, core.dropped))
    end

    # The next piece as `[code, bytes]`; nil at the end.
    def read
      text, @text = @text, nil
      return [Native::STUDIO_OK, text] if text

      until @ended
        code, bytes = Native.filled(:studio_stream_next_batch, @handle, 0, 0)
        case code
        when Native::STUDIO_TIMEOUT then wait
        when Native::STUDIO_END then close
        else return piece(code, bytes)
        end
      end
    end

    # The head of an HTTP answer, or the whole answer of an operation.
    def head
      return @head if @head

      code, bytes = read
      raise Internal, "the answer has no head" unless code == Native::STUDIO_HEAD

      told = JSON.parse(bytes, max_nesting: false)
    ensure # whoever is interrupted here has nothing to close it by
      close unless told || @head
    end

    # Ends the run; its stream goes on and tells so.
    def cancel
      Native.check(Native.studio_stream_cancel(@handle)) unless @ended
    end

    # Stops listening; whoever reads gets the end.
    def close
      return if @ended

      @ended = true
      ObjectSpace.undefine_finalizer(self)
      Native.studio_stream_close(@handle)
      @core.unwatch(@handle)
    end

    # The finalizer must not hold what it finalizes.
    def self.closing(handle, dropped)
      proc do
        Native.studio_stream_close(handle)
        dropped << handle
      end
    end

    private

    # Nobody tells news any more once the mailbox was closed: what is there then is all there will be.
    def wait
      return if @mailbox.pop
      raise Closed, "the engine was closed" if @over && !@ended

      @over = true
    end

    def piece(code, bytes)
      return [code, bytes || ""] unless code.negative?

      ended = @ended # by another thread, meanwhile
      close
      raise Error.of(code, bytes) unless ended
    end
  end

  # The events of a run: `each`, or everything else of Enumerable. Leaving the loop closes the stream, and the run goes on.
  class Run
    include Enumerable

    def initialize(stream)
      @stream = stream
    end

    def each(&block)
      return to_enum(:each) unless block

      begin
        while (piece = @stream.read)
          code, bytes = piece
          Event.each_in(bytes, &block) if code == Native::STUDIO_OK
        end
        self
      ensure
        @stream.close
      end
    end

    # Cancels the run; the events that follow say so.
    def cancel
      @stream.cancel
    end

    def close
      @stream.close
    end
  end
end
