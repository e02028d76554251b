# Owns errors: what the library refuses, what cannot be loaded, what a tool fails with.

module WfStudio
  # A refusal of the library. `problem` is its problem document, `code` the number of the C function, `status` that of HTTP.
  class Error < StandardError
    attr_reader :code, :problem

    def initialize(message = nil, code: nil, problem: nil)
      @code = code || ERRORS.key(self.class)
      @problem = problem || {}
      super(message || @problem["detail"] || @problem["title"] || self.class.name)
    end

    def status
      @problem["status"]
    end

    # The error for a negative code and the bytes that came with it.
    def self.of(code, bytes)
      problem = bytes.nil? || bytes.empty? ? {} : JSON.parse(bytes)
      kind = ERRORS.fetch(code, Error)
      kind.new(code: code, problem: problem)
    rescue JSON::ParserError
      ERRORS.fetch(code, Error).new(bytes, code: code)
    end
  end

  # There is no library for this machine, or none that fits. The message lists what was tried.
  class UnsupportedPlatform < Error; end

  # Raised by a tool or an answer: the engine is told its message and nothing else.
  class Failure < StandardError; end
end
