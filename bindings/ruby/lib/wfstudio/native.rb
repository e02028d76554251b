# Owns the C functions: loaded with their first use, bytes and texts in, bytes out.

module WfStudio
  # Functions of the library as they are, and what reading their buffers takes.
  module Native
    SIZE = 24 # of a studio_buf: bytes, length, capacity
    LOADING = Mutex.new

    @library = nil

    class << self
      # The path or name of the library; loads it.
      def library
        @library || LOADING.synchronize { @library ||= attach(Loader.new.find) }
      end

      # Calls a function with an empty buffer as its last argument, and gives the code and what the buffer then held.
      def filled(function, *arguments)
        buffer = FFI::MemoryPointer.new(:uint8, SIZE)
        code = public_send(function, *arguments, buffer)
        [code, bytes(buffer)]
      ensure # a thread may be interrupted as soon as the buffer is filled
        studio_buf_free(buffer) if buffer
      end

      # The same for functions that give a handle before that.
      def opened(function, *arguments)
        handle = FFI::MemoryPointer.new(:uint64)
        code, bytes = filled(function, *arguments, handle)
        raise Error.of(code, bytes) if code.negative?

        handle.read_uint64
      end

      # Pointer and length of bytes that are lent for one call.
      def lent(text)
        return [nil, 0] if text.nil? || text.empty?

        memory = FFI::MemoryPointer.new(:uint8, text.bytesize)
        memory.put_bytes(0, text)
        [memory, text.bytesize]
      end

      # Raises what a negative code means.
      def check(code)
        raise Error.of(code, nil) if code.negative?
      end

      private

      def bytes(buffer)
        data = buffer.get_pointer(0)
        data.get_bytes(0, buffer.get(:size_t, 8)).force_encoding(Encoding::UTF_8) unless data.null?
      end

      def attach(path)
        extend FFI::Library
        ffi_lib path
        FUNCTIONS.each { |name, parameters, result, waits| attach_function name, parameters, result, blocking: waits }
        # Threads of the library end before the interpreter takes its own down.
        at_exit { studio_shutdown(5_000) }
        path
      end
    end
  end
end
