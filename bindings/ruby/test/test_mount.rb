# Owns proof that the mount carries everything: a real server, raw paths, streams behind middleware, uploads, refusals, clients that leave.

require_relative "helper"
require "net/http"
require "puma"
require "puma/server"
require "rack"

class TestMount < StudioTest
  USER = { id: "7", name: "Zoë" }.freeze
  PAGE = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/studio/api/agents" }.freeze

  def setup
    super
    own = ->(env) { [200, { "content-type" => "text/plain" }, ["own #{env["PATH_INFO"]}"]] }
    studio = self.studio
    app = Rack::Builder.new do
      use Rack::Deflater
      use Rack::ConditionalGet
      use Rack::ETag
      use WfStudio::Mount, studio, user: ->(_env) { USER }, gate: true
      run own
    end
    serve(app.to_app)
  end

  def teardown
    @server.stop(true)
    super
  end

  def serve(app)
    # What Puma writes is kept from the test's output; from version 6 on by another class.
    quiet = defined?(Puma::LogWriter) ? [nil, { log_writer: Puma::LogWriter.strings }] : [Puma::Events.strings, {}]
    @server = Puma::Server.new(app, quiet[0], { **quiet[1], min_threads: 0, max_threads: 16 })
    @port = @server.add_tcp_listener("127.0.0.1", 0).addr[1]
    @server.run
  end

  def http(&block)
    Net::HTTP.start("127.0.0.1", @port, read_timeout: 20, &block)
  end

  def get(path, headers = {})
    http { |client| client.get(path, headers) }
  end

  def post(path, value)
    http { |client| client.post(path, JSON.generate(value), "Content-Type" => "application/json", "X-Requested-With" => "test") }
  end

  # What a client that says exactly this is answered.
  def raw(request)
    TCPSocket.open("127.0.0.1", @port) do |socket|
      socket.write(request)
      socket.read
    end
  end

  def test_pages_json_and_the_application_behind
    assert_includes get("/studio/workflows", "Accept" => "text/html").body.downcase, "<html"
    assert_equal "own /own", get("/own").body
    assert_equal "own /studios", get("/studios").body
    made = post("/studio/api/agents", { name: "Zoë's \"agent\"\n2", provider: "script", model: "echo" })
    assert_equal "201", made.code, made.body
    assert_equal "Zoë's \"agent\"\n2", JSON.parse(made.body)["name"]
    refused = get("/studio/api/agents/none")
    assert_equal ["404", "not_found"], [refused.code, JSON.parse(refused.body)["code"]]
  end

  def test_a_studio_that_cannot_open_leaves_the_pages_of_the_application_alone
    wrong = WfStudio.open({ databse: { path: "x" } })
    mount = WfStudio::Mount.new(->(_env) { [200, {}, ["home"]] }, wrong, user: USER, gate: true)
    assert_equal [200, ["home"]], mount.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/" }).values_at(0, 2)
    assert_equal 400, mount.call(PAGE).first
  end

  def test_a_mark_that_is_misspelt_is_refused
    refused = assert_raises(ArgumentError) { WfStudio::Mount.new(studio, user: USER, tennant: "ann") }
    assert_includes refused.message, "unknown: tennant; a mount takes user, gate, tenant"
  end

  def test_the_path_is_the_one_that_was_sent
    seen = nil
    mount = WfStudio::Mount.new(studio, gate: true)
    studio.define_singleton_method(:http) { |head, body = nil| seen = head and super(head, body) }
    { "/studio/api/agents/a%2Fb%20c" => "/studio/api/agents/a%2Fb%20c", "/studio/api/agents/%C3%BC" => "/studio/api/agents/%C3%BC" }.each do |sent, path|
      mount.call({ "REQUEST_METHOD" => "GET", "REQUEST_URI" => "#{sent}?x=1", "SCRIPT_NAME" => "", "PATH_INFO" => sent, "QUERY_STRING" => "x=1" })
      assert_equal [path, "x=1"], seen.values_at(:path, :query)
    end
    # A server that decodes, one that tells no raw path, something in front that has changed the path, a mount below another path.
    mount.call({ "REQUEST_METHOD" => "GET", "REQUEST_URI" => "/studio/api/agents/a%2Fb", "PATH_INFO" => "/studio/api/agents/a/b" })
    assert_equal "/studio/api/agents/a%2Fb", seen[:path]
    mount.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/studio/api/agents/ü b" })
    assert_equal "/studio/api/agents/%C3%BC%20b", seen[:path]
    mount.call({ "REQUEST_METHOD" => "GET", "REQUEST_URI" => "/de/studio/api/agents", "PATH_INFO" => "/studio/api/agents" })
    assert_equal "/studio/api/agents", seen[:path]
    # The router of Rails takes the last slash away, or puts one there for its mount; the links of a page count from what the client has.
    mount.call({ "REQUEST_METHOD" => "GET", "REQUEST_URI" => "/studio/agents/?x=1", "PATH_INFO" => "/studio/agents" })
    assert_equal "/studio/agents/", seen[:path]
    mount.call({ "REQUEST_METHOD" => "GET", "REQUEST_URI" => "/studio", "SCRIPT_NAME" => "/studio", "PATH_INFO" => "/" })
    assert_equal ["/studio", "/studio"], seen.values_at(:path, :root_path)
    assert_equal 200, mount.call({ "REQUEST_METHOD" => "GET", "REQUEST_URI" => "/ai/studio/api/agents", "SCRIPT_NAME" => "/ai", "PATH_INFO" => "/studio/api/agents" })[0]
    assert_equal ["/ai/studio/api/agents", "/ai"], seen.values_at(:path, :root_path)
    assert_equal 200, mount.call({ "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "/studio", "PATH_INFO" => "/api/agents" })[0]
    assert_equal [404, "pass"], mount.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/other" }).then { |status, headers, _| [status, headers.transform_keys(&:downcase)["x-cascade"]] }
  end

  def test_a_stream_is_not_swallowed_by_middleware
    release = Thread::Queue.new
    slow { 1 }.to_a
    studio.tool(:slow, require_approval: false, schema: { type: "object" }) { release.pop }
    first = nil
    http do |client|
      request = Net::HTTP::Post.new("/studio/workflows/slow/run/stream", "Content-Type" => "application/json", "X-Requested-With" => "test", "Accept-Encoding" => "gzip")
      request.body = '{"message": "x"}'
      text = +""
      client.request(request) do |answer|
        assert_nil answer["Content-Encoding"]
        answer.read_body do |piece|
          first ||= release.size
          release << true if text.empty?
          text << piece
        end
      end
      assert_includes text, "event: trace_completed"
    end
    assert_equal 0, first
  end

  def test_a_client_that_leaves_ends_its_stream_and_not_the_run
    socket = TCPSocket.new("127.0.0.1", @port)
    socket.write("POST /studio/workflows/refund/run/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nX-Requested-With: t\r\nContent-Length: 16\r\n\r\n{\"message\": \"x\"}")
    socket.readpartial(100)
    socket.close
    eventually { JSON.parse(get("/studio/api/runs").body)["data"][0]["status"] == "awaiting_tool_approval" }
  end

  def test_files_come_back_byte_for_byte
    sent = ("\x89PNG\r\n\x1A\n".b + (0..255).map(&:chr).join.b * 1000)
    boundary = "xyz"
    body = "--#{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n".b + sent + "\r\n--#{boundary}--\r\n".b
    made = http { |client| client.post("/studio/api/attachments", body, "Content-Type" => "multipart/form-data; boundary=#{boundary}", "X-Requested-With" => "t") }
    assert_equal "201", made.code, made.body
    kept = get("/studio/api/attachments/file?storage_key=#{JSON.parse(made.body)["storage_key"]}")
    assert_equal sent, kept.body.b
  end

  def test_large_bodies_are_refused_before_they_are_read
    input = Object.new
    def input.read(*) = raise("it was read")
    mount = WfStudio::Mount.new(studio, user: USER, gate: ->(env) { env["X"] })
    env = { "REQUEST_METHOD" => "POST", "PATH_INFO" => "/studio/api/agents", "CONTENT_TYPE" => "application/json", "CONTENT_LENGTH" => "9", "HTTP_HOST" => "localhost", "rack.input" => input, "X" => false }
    assert_equal 403, mount.call(env)[0]
    assert_equal 413, mount.call({ **env, "X" => true, "CONTENT_LENGTH" => (1 << 30).to_s })[0]
    consumed = { **env, "X" => true, "rack.input" => StringIO.new("") }
    assert_match(/was read before/, mount.call(consumed)[2].join)
  end

  def test_a_request_that_only_reads_begins_no_stream
    studio.mounts # asked once
    begun = 0
    core = studio.send(:core)
    core.define_singleton_method(:start) { |*told| begun += 1 and super(*told) }
    assert_equal "200", get("/studio/api/agents").code
    assert_equal 0, begun
    post("/studio/api/agents", { name: "one", provider: "script", model: "echo" })
    assert_equal 2, begun
    # Others of this thread, or the application, may be needed meanwhile.
    require "async"
    Async { WfStudio::Mount.new(studio, user: USER, gate: true).call(PAGE) }
    assert_equal 3, begun
    WfStudio::Mount.new(studio, user: USER).call(PAGE)
    assert_equal 4, begun
    studio.answer("secret.get") { { value: "there" } }
    get("/studio/api/agents")
    assert_equal 5, begun
    get("/studio/%61pi/agents")
    assert_equal 6, begun
    assert_equal "200", get("/studio/agents").code
    assert_equal 6, begun
  end

  def test_whoever_waits_for_the_gate_can_be_interrupted_and_hears_of_the_end
    asked, release = Thread::Queue.new, Thread::Queue.new
    studio.answer("gate") { asked << true; release.pop; { allow: true } }
    mount = WfStudio::Mount.new(studio, user: USER)
    # A mark that says nothing leaves the decision to the answer, too.
    [mount, WfStudio::Mount.new(studio, user: USER, gate: ->(_env) {})].each do |one|
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      assert_raises(Timeout::Error) { Timeout.timeout(0.2) { one.call(PAGE) } }
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 2
    end
    asked.clear
    waits = Thread.new { mount.call(PAGE)[0] }
    asked.pop
    studio.close(1)
    assert_equal 503, waits.value
  ensure
    3.times { release << true }
  end

  # A slot of `limits.streams` is one of the things that a stream holds.
  def test_a_reader_that_is_interrupted_before_it_has_the_stream_leaves_none_open
    trace = asked["trace_id"] || asked.data["trace_id"]
    core = studio.send(:core)
    closed = []
    native = WfStudio::Native
    close = native.method(:studio_stream_close)
    filled = native.method(:filled)
    native.define_singleton_method(:studio_stream_close) { |handle| closed << handle; close.call(handle) }
    interrupted = %i[studio_http studio_stream_next_batch]
    native.define_singleton_method(:filled) do |function, *arguments|
      filled.call(function, *arguments).tap { raise Timeout::Error if interrupted.include?(function) }
    end
    head = { method: "GET", path: "/studio/workflows/runs/#{trace}/events/stream", headers: [], user: USER, gate: true }
    assert_raises(Timeout::Error) { studio.http(head) }
    assert_equal 1, closed.size
    assert_raises(Timeout::Error) { core.start("http", JSON.generate(head)).head }
    assert_equal 2, closed.size
    interrupted = %i[studio_start]
    assert_raises(Timeout::Error) { core.start("http", JSON.generate(head)) }
    assert_equal 3, closed.size
    made = WfStudio::Stream.method(:new)
    WfStudio::Stream.define_singleton_method(:new) { |*told| made.call(*told).tap { raise Timeout::Error } }
    interrupted = []
    assert_raises(Timeout::Error) { core.start("http", JSON.generate(head)) }
    assert_empty core.instance_variable_get(:@mailboxes)
  ensure
    WfStudio::Stream.singleton_class.send(:remove_method, :new) if made
    native.define_singleton_method(:studio_stream_close, close) if close
    native.define_singleton_method(:filled, filled) if filled
  end

  def test_a_reader_that_is_interrupted_before_it_has_the_answer_leaves_no_bytes
    native = WfStudio::Native
    http, free = native.method(:studio_http), native.method(:studio_buf_free)
    freed = []
    native.define_singleton_method(:studio_http) { |*told| http.call(*told).tap { raise Timeout::Error } }
    native.define_singleton_method(:studio_buf_free) { |buffer| freed << buffer.get(:size_t, 8) and free.call(buffer) }
    assert_raises(Timeout::Error) { studio.http({ method: "GET", path: "/studio/api/agents", headers: [], user: USER, gate: true }) }
    assert(freed.any?(&:positive?))
  ensure
    native.define_singleton_method(:studio_http, http) if http
    native.define_singleton_method(:studio_buf_free, free) if free
  end

  def test_a_fibre_that_asks_lets_others_run
    require "async"
    release = Thread::Queue.new
    studio.answer("gate") { release.pop; { allow: true } }
    mount = WfStudio::Mount.new(studio, user: USER)
    order = []
    Async do |task|
      task.async { order << mount.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/studio/api/agents" })[0] }
      task.async { sleep 0.1; order << :tick; release << true }
    end
    assert_equal [:tick, 200], order
  end

  def test_head_and_empty_answers
    assert_match(%r{\AHTTP/1.1 200}, raw("HEAD /studio/workflows HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"))
    id = JSON.parse(post("/studio/api/agents", { name: "gone", provider: "script", model: "echo" }).body)["id"]
    gone = raw("DELETE /studio/api/agents/#{id} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Requested-With: t\r\nConnection: close\r\n\r\n")
    assert_match(%r{\AHTTP/1.1 204 [^\r]*\r\n(?!.*[Cc]ontent-[Ll]ength: [1-9]).*\r\n\r\n\z}m, gone)
  end

  def test_after_the_close_all_is_503_and_open_streams_end
    release = Thread::Queue.new
    slow { 1 }.to_a
    studio.tool(:slow, require_approval: false, schema: { type: "object" }) { release.pop }
    reader = Thread.new { post("/studio/workflows/slow/run/stream", { message: "x" }).code }
    eventually { release.num_waiting == 1 }
    studio.close(0.5)
    assert_equal "200", Timeout.timeout(10) { reader.value }
    closed = get("/studio/api/agents")
    assert_equal ["503", "application/problem+json"], [closed.code, closed["content-type"]]
    assert_equal "own /own", get("/own").body
    release << true
  end

  def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one
    broken = lambda do
      pieces = [[0, "part"]]
      Object.new.tap { |stream| stream.define_singleton_method(:read) { pieces.shift || raise(WfStudio::Closed, "closed") } }
    end
    assert_equal ["part"], WfStudio::Body.new(broken.call, true).enum_for(:each).to_a
    assert_raises(WfStudio::Closed) { WfStudio::Body.new(broken.call, false).enum_for(:each).to_a }
  end

  def test_repeated_headers_are_as_this_rack_has_them
    pairs = [["set-cookie", "a=1"], ["set-cookie", "b=2"], ["set-cookie", "c=3"]]
    lists = WfStudio::Mount.method(:lists?)
    assert_equal Rack.release.to_i >= 3, lists.call
    WfStudio::Mount.define_singleton_method(:lists?) { false }
    assert_equal({ "set-cookie" => "a=1\nb=2\nc=3" }, WfStudio::Mount.fields(pairs))
    WfStudio::Mount.define_singleton_method(:lists?) { true }
    assert_equal({ "set-cookie" => %w[a=1 b=2 c=3] }, WfStudio::Mount.fields(pairs))
  ensure
    WfStudio::Mount.define_singleton_method(:lists?, lists)
  end
end
