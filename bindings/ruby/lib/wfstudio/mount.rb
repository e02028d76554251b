# Owns the mount for Rack 2 and 3: requests as the engine takes them, answers and streams as a server sends them.

module WfStudio
  # The pages and routes of a studio::
  #
  #   run STUDIO.rack(user: ->(env) { { id: "7" } }, gate: ->(env) { true })
  #   use WfStudio::Mount, STUDIO, user: ...        # in front of another application
  #
  # `user`, `gate`, `tenant`, `authorized` and `base_url` are values or take the env of the request. Every other path goes to the application
  # behind, or is 404 with `X-Cascade: pass`.
  class Mount
    BODIES = %w[CONTENT_TYPE CONTENT_LENGTH].freeze
    NO_HEADER = "HTTP_VERSION" # of the protocol, from Puma
    UNSAFE = %r{[^A-Za-z0-9%/:?#\[\]@!$&'()*+,;=._~-]}n.freeze

    # A name that is none of these is refused: a misspelt `tenant` would show everybody's data to everybody.
    MARKS = %i[user gate tenant authorized base_url root_path].freeze

    def initialize(first, second = nil, **marks)
      unknown = marks.keys - MARKS
      raise ArgumentError, "unknown: #{unknown.join(", ")}; a mount takes #{MARKS.join(", ")}" unless unknown.empty?

      @app, @studio = first.is_a?(Studio) ? [second, first] : [first, second]
      @marks = marks
    end

    def call(env)
      path = raw_path(env)
      return elsewhere(env) unless ours?(env, path)

      respond(env, head(env, path))
    rescue UnsupportedPlatform
      raise # not for visitors: the application tells its operator
    rescue Closed => e
      problem(503, "Service Unavailable", e.message)
    rescue Error => e
      problem(e.is_a?(Invalid) ? 400 : 500, e.is_a?(Invalid) ? "Bad Request" : "Internal Server Error", e.message)
    end

    private

    def ours?(env, path)
      inside = env["PATH_INFO"].to_s
      @studio.mounts.any? { |mount| [path, inside].any? { |one| one == mount || one.start_with?("#{mount}/") } }
    rescue Error
      # A studio that is closed, or cannot open, says nothing of its prefixes; the application's own pages are answered all the same.
      path.match?(%r{(\A|/)studio(/|\z)})
    end

    def elsewhere(env)
      return @app.call(env) if @app

      [404, { "content-type" => "text/plain", cascade => "pass" }, ["Not Found"]]
    end

    def cascade
      Mount.lists? ? "x-cascade" : "X-Cascade"
    end

    # The path as the client sent it. A path that something in front changed is taken as it is now.
    def raw_path(env)
      now = "#{env["SCRIPT_NAME"]}#{env["PATH_INFO"]}"
      raw = (env["REQUEST_URI"] || env["RAW_URI"]).to_s.sub(%r{\A[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*}, "").split(/[?#]/, 2).first.to_s
      raw.start_with?("/") && as_now?(plain(raw), plain(now)) ? escaped(raw) : escaped(now)
    end

    # The router of Rails takes a slash at the end away, and puts one behind the path of its mount; a page's links count from what the client has.
    def as_now?(raw, now)
      raw == now || raw == "#{now}/" || "#{raw}/" == now
    end

    def plain(path)
      path.b.gsub(/%(\h\h)/n) { $1.hex.chr }
    end

    def escaped(text)
      text.b.gsub(UNSAFE) { |byte| format("%%%02X", byte.ord) }.force_encoding(Encoding::UTF_8)
    end

    def head(env, path)
      head = { method: env["REQUEST_METHOD"], path: path, query: escaped(env["QUERY_STRING"].to_s), headers: headers(env) }
      head[:root_path] = escaped(env["SCRIPT_NAME"]) unless env["SCRIPT_NAME"].to_s.empty?
      @marks.each do |name, mark|
        asked = mark.respond_to?(:call)
        said = asked ? mark.call(env) : mark
        # A gate that was asked and says nothing lets nobody in who is merely named.
        head[name] = said unless said.nil? && !(asked && name.to_sym == :gate)
      end
      head
    end

    def headers(env)
      named = env.keys.select { |name| name.start_with?("HTTP_") && name != NO_HEADER }
      all = named.map { |name| [name[5..], env[name]] } + BODIES.map { |name| [name, env[name]] }
      all.filter_map { |name, value| [name.tr("_", "-"), Mount.utf8(value)] unless value.nil? || value.empty? }
    end

    # Old clients send latin-1.
    def self.utf8(value)
      text = value.dup.force_encoding(Encoding::UTF_8)
      text.valid_encoding? ? text : value.dup.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)
    end

    def respond(env, head)
      return answer(@studio.http(head)) unless body?(env)

      # The engine says first whether the request may come in at all, and how long its body may be.
      first = @studio.http({ **head, expect: "100-continue" })
      told = first.head
      return answer(first, told) unless told["status"] == 100

      first.close
      body = read(env, told["body_limit"])
      return too_large(told["body_limit"]) unless body

      answer(@studio.http(head, body))
    end

    def body?(env)
      env["CONTENT_LENGTH"].to_i.positive? || !env["HTTP_TRANSFER_ENCODING"].to_s.empty?
    end

    # The body; nil when it is longer than `limit`.
    def read(env, limit)
      length, input = env["CONTENT_LENGTH"].to_i, env["rack.input"]
      return if length > limit

      input.rewind if input.respond_to?(:rewind)
      body = input&.read(limit + 1).to_s
      raise Internal, "the body was read before: mount the studio in front of what parses bodies" if body.empty? && length.positive?

      body if body.bytesize <= limit
    end

    def answer(stream, told = stream.head)
      headers = Mount.fields(told["headers"])
      events = headers.any? { |name, value| name.casecmp?("content-type") && value.to_s.start_with?("text/event-stream") }
      # `Rack::ETag` would read a stream to its end before a byte of it is sent.
      headers[Mount.lists? ? "last-modified" : "Last-Modified"] ||= Time.now.httpdate if events
      body = Body.new(stream, events)
      [told["status"], headers, events ? body : body.settled]
    end

    # Repeated headers, as this version of Rack has them.
    def self.fields(pairs)
      pairs.each_with_object({}) do |(name, value), fields|
        fields[name] = if !fields.key?(name) then value
                       elsif lists? then Array(fields[name]) << value
                       else "#{fields[name]}\n#{value}"
                       end
      end
    end

    def self.lists?
      defined?(::Rack.release) && ::Rack.release.to_i >= 3
    end

    def too_large(limit)
      problem(413, "Content Too Large", "the body is longer than #{limit} bytes and was not read to its end; nothing was done")
    end

    def problem(status, title, detail)
      body = JSON.generate({ type: "about:blank", title: title, status: status, detail: detail })
      [status, { "content-type" => "application/problem+json" }, [body]]
    end
  end

  # A body that still comes; servers close it when the client has gone.
  class Body
    SETTLED = 1 << 20

    def initialize(stream, events)
      @stream, @events = stream, events
      @first = []
    end

    def each
      yield @first.shift until @first.empty?
      while (piece = @stream.read)
        yield piece.last
      end
    rescue Closed, Cancelled
      # Events are whole, and their readers come again with the position that they have; of all else the server breaks the connection.
      raise unless @events
    end

    def close
      @stream.close
    end

    # The whole body as a list, as far as it is short; middleware may then look at it.
    def settled
      size = 0
      while size < SETTLED
        piece = @stream.read or return @first
        @first << piece.last
        size += piece.last.bytesize
      end
      self
    end
  end
end
