# Owns proof that the engine works from Ruby: runs, tools, errors, cancels, threads that go on meanwhile.

require_relative "helper"

class TestEngine < StudioTest
  def test_a_run_waits_for_approval_and_its_tool_runs_once
    first = asked
    assert_equal "tool_approval_required", first.name
    assert_equal({ "order_id" => "A-100", "amount" => 25 }, first["pending_tools"][0]["arguments"])
    assert_empty refunds
    second = studio.resume(first["trace_id"], pause_id: first["pause_id"], approval: "approve").map(&:name)
    assert_equal %w[tool_approval_resolved trace_completed], [second.first, second.last]
    assert_equal [["A-100", 25]], refunds
    assert_equal "completed", studio.trace(first["trace_id"])["trace"]["status"]
    assert studio.usage(run: first["trace_id"])
  end

  def test_events_are_an_enumerator_too
    events = studio.run(workflow: "refund", message: "Please refund order A-100").each
    assert_equal "thread", events.next.name
    assert_operator events.next.id.to_i, :>=, 0
    assert_includes studio.run(workflow: "refund", message: "x").lazy.map(&:name).first(2), "trace_started"
    event = studio.run(workflow: "refund", message: "x").first
    assert_equal [event.name, event.data, event.id], event.to_a
    assert_equal ["thread", event.data["trace_id"], "1"], [event[0], event["trace_id"], event[:id]]
    assert_same event.data, event[:data]
    case event
    in { name: "thread", data: Hash => data } then assert_includes data, "workflow_id"
    end
    assert_equal event, WfStudio::Event.new("thread", data, "1")
  end

  def test_an_event_that_was_not_read_is_frozen_written_and_copied_whole
    require "yaml"
    fresh = -> { studio.run(workflow: "refund", message: "x").first }
    whole = ->(event) { assert_equal ["thread", "1"], [event.name, event.id]; assert event.data["workflow_id"] }
    [:freeze, :dup, :clone, Ractor.method(:make_shareable), ->(it) { Marshal.load(Marshal.dump(it)) },
     ->(it) { YAML.load(YAML.dump(it), permitted_classes: [WfStudio::Event]) }].each { |how| whole.call(how.to_proc.call(fresh.call)) }
    refute_match(/frame/, YAML.dump(fresh.call))
    event = fresh.call
    assert_equal [event["trace_id"], nil], [event.dig(:data, "trace_id"), event.dig("none", "deeper")]
    assert_includes fresh.call.to_s, "trace_id"
    one, other = [1, 1.0].map { |number| WfStudio::Event.new("x", { "n" => number }, "1") }
    assert_equal [true, false], [one == other, one.eql?(other)]
  end

  # In a process of its own: Active Support changes how all of a program is written as JSON, and makes NaN null.
  def test_active_support_writes_an_event_that_was_not_read_whole
    written, = program(<<~'RUBY')
      require "active_support"
      require "active_support/json"
      WfStudio::Event.each_in(%(id: 1\nevent: thread\ndata: {"trace_id":"t"}\n\n)) { |event| puts event.to_json }
    RUBY
    assert_equal({ "name" => "thread", "data" => { "trace_id" => "t" }, "id" => "1" }, JSON.parse(written))
  end

  def test_a_stream_that_nobody_holds_leaves_nothing
    studio.call("health")
    core = studio.send(:core)
    200.times { core.start("health", "{}") }
    eventually do
      GC.start
      core.start("health", "{}").close
      core.instance_variable_get(:@mailboxes).size < 100
    end
  end

  def test_errors_carry_code_status_and_problem
    failed = assert_raises(WfStudio::NotFound) { studio.trace("00000000-0000-7000-8000-000000000000") }
    assert_equal [-2, 404, "not_found"], [failed.code, failed.status, failed.problem["code"]]
    failed = assert_raises(WfStudio::Invalid) { studio.run(workflow: "refund", message: "").to_a }
    assert failed.problem["errors"]["message"]
    assert_raises(WfStudio::Error) { studio.call("no.such.op") }
  end

  def test_a_tool_that_raises_is_a_failed_call
    { -> { raise ArgumentError, "the till is empty" } => "ArgumentError: the till is empty", -> { raise WfStudio::Failure, "no" } => "no",
      -> { Float::NAN } => "NaN", -> { "\xff".b } => "JSON", -> { exit 3 } => "exit" }.each do |work, told|
      studio.tool(:issue_refund, require_approval: false, schema: { type: "object" }) { |**_| work.call }
      result = studio.run(workflow: "refund", message: "Please refund order A-100").find { |event| event.name == "tool_result" }
      assert result["is_error"], told
      assert_includes result["result"], told
    end
  end

  def test_arguments_come_by_name_and_their_schema_follows_from_the_block
    block = ->(call, order_id:, amount: 5) {}
    assert_equal({ type: "object", properties: { order_id: {}, amount: {} }, required: [:order_id], additionalProperties: false }, WfStudio::Host.schema(block))
    assert WfStudio::Host.schema(proc { |**rest| rest })[:additionalProperties]
  end

  def test_other_threads_go_on_while_a_stream_waits
    entered, leave = Thread::Queue.new, Thread::Queue.new
    reader = Thread.new { slow { entered << leave.pop(*[]) && 1 }.to_a }
    eventually { !leave.num_waiting.zero? }
    calls = Array.new(4) { Thread.new { studio.run(workflow: "slow", message: "x").to_a } }
    eventually { leave.num_waiting == 5 }
    # The best of some seconds: others may have the machine for a while.
    ticks = 0
    10.times do
      break if ticks >= 60
      ticks = 0
      ending = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ending
        sleep 0.01
        ticks += 1
      end
    end
    5.times { leave << true }
    [reader, *calls].each(&:join)
    assert_operator ticks, :>=, 60
  end

  def test_a_reader_that_waits_can_be_interrupted
    release = Thread::Queue.new
    assert_raises(Timeout::Error) { Timeout.timeout(0.3) { slow { release.pop }.to_a } }
    release << true
    assert_equal "ok", studio.call("health")["status"]
  end

  def test_leaving_the_loop_closes_the_stream_and_the_run_goes_on
    release = Thread::Queue.new
    run = slow { release.pop }
    trace = run.each { |event| break event["trace_id"] if event.name == "trace_started" }
    assert_empty run.to_a
    release << true
    eventually { studio.trace(trace)["trace"]["status"] == "completed" }
  end

  def test_a_cancelled_run_tells_its_tool_and_its_reader
    begun, heard = Thread::Queue.new, Thread::Queue.new
    run = slow { |call| begun << true; heard << call.wait(15) }
    asked = false
    names = run.map do |event|
      if !asked && (event.name == "tool_call" || event.name == "step_started" && event["node_id"] == "tool")
        asked = Timeout.timeout(20) { begun.pop } # else nobody would have to be told
        run.cancel
      end
      event.name
    end
    assert_equal "trace_cancelled", names.last
    assert_equal true, Timeout.timeout(30) { heard.pop }
  end

  def test_a_call_that_is_no_longer_wanted_before_it_begins_is_not_run
    ran, jobs = [], Thread::Queue.new
    with_executor(->(&job) { jobs << job })
    run = slow(timeout_ms: 300) { ran << true }
    refute_equal "trace_completed", run.to_a.last.name
    Timeout.timeout(30) { jobs.pop }.call
    assert_empty ran
  end

  def test_studios_of_one_name_are_one_engine_with_the_tools_of_both
    both = Array.new(2) { WfStudio.open({ environment: "local", database: { path: "#{@folder}/one.sqlite" } }, name: "one") }
    both.zip(%w[left right]) { |one, name| one.tool(name, schema: { type: "object" }) { "from the #{name}" } }
    both.each(&:start)
    Timeout.timeout(20) { 40.times { both.each { |one| assert_equal "ok", one.call("health")["status"] } } }
    both.reverse.zip(%w[left right]) do |one, name|
      graph = Marshal.load(Marshal.dump(SLOW[:graph]))
      graph[:nodes][1][:data][:tool_ref] = "host:#{name}"
      one.call("workflow.save", slug: name, name: name, graph: graph)
      assert_equal "trace_completed", Timeout.timeout(30) { one.run(workflow: name, message: "x").to_a.last.name }
    end
  ensure
    both&.each { |one| one.close(1) }
  end

  def test_a_name_is_for_one_configuration
    config = { environment: "local", database: { path: "#{@folder}/named.sqlite" } }
    first = WfStudio.open(config, name: "named")
    assert_equal "ok", first.call("health")["status"]
    assert_equal "ok", WfStudio.open(name: "named").call("health")["status"]
    assert_raises(WfStudio::Conflict) { WfStudio.open({ **config, environment: "production" }, name: "named").call("health") }
  ensure
    first&.close(1)
  end

  def test_hosts_of_studios_that_are_gone_are_let_go_once_others_answer_for_them
    config = { environment: "local", database: { path: "#{@folder}/gone.sqlite" } }
    kept = WfStudio.open(config, name: "gone")
    hosts = ObjectSpace::WeakMap.new
    visit(config, "alone", hosts)
    20.times { visit(config, "common", hosts) }
    GC.start
    visit(config, "common", hosts)
    GC.start
    # `size` has those that are gone too, from Ruby 3.3 on.
    assert_operator hosts.keys.size, :<=, 6
    %w[alone common].each do |name|
      graph = Marshal.load(Marshal.dump(SLOW[:graph]))
      graph[:nodes][1][:data][:tool_ref] = "host:#{name}"
      kept.call("workflow.save", slug: name, name: name, graph: graph)
      assert_equal "trace_completed", Timeout.timeout(30) { kept.run(workflow: name, message: "x").to_a.last.name }
    end
  ensure
    kept&.close(1)
  end

  def visit(config, tool, hosts)
    studio = WfStudio.open(config, name: "gone")
    studio.tool(tool, schema: { type: "object" }, &TOOL)
    studio.call("health")
    hosts[studio.host] = true
  end
  TOOL = ->(**_) { "done" }

  def test_an_executor_that_refuses_fails_that_call
    with_executor(->(&_) { raise "the queue is full" })
    told = Timeout.timeout(30) { slow { "never" }.to_a }
    refute_equal "trace_completed", told.last.name
    assert_includes told.map(&:data).to_s, "the queue is full"
    assert_equal "ok", Timeout.timeout(30) { studio.call("health") }["status"]
  end

  def test_an_answer_to_a_cancel_may_ask_the_studio
    heard, begun = Thread::Queue.new, Thread::Queue.new
    studio.answer("tool.cancel") { |_| heard << studio.call("health")["status"] }
    run = slow { |call| begun << true; call.wait(10) }
    Thread.new { begun.pop; run.cancel }
    Timeout.timeout(30) { run.to_a }
    assert_equal "ok", Timeout.timeout(30) { heard.pop }
  end

  def test_streams_end_when_the_studio_is_closed
    release = Thread::Queue.new
    started = Thread::Queue.new
    run = slow { started << true; release.pop }
    reader = Thread.new { run.to_a }
    reader.report_on_exception = false
    started.pop
    studio.close(0.5)
    assert_raises(WfStudio::Closed) { reader.value } rescue assert_kind_of Array, reader.value
    assert_raises(WfStudio::Closed) { studio.call("health") }
    studio.close
    release << true
  end

  def test_closing_while_another_thread_reads_is_the_end_for_it
    release = Thread::Queue.new
    run = slow { release.pop }
    reader = Thread.new { run.to_a }
    eventually { release.num_waiting == 1 }
    run.close
    assert_kind_of Array, Timeout.timeout(30) { reader.value }
    release << true
  end

  def test_a_class_with_a_contract_is_registered_and_run
    graph = JSON.parse(File.read("#{EXAMPLES}/refund.json"))["graph"]
    shop = Class.new do
      include StudioWorkflow
      define_singleton_method(:name) { "Shop::RefundWorkflow" }
      define_singleton_method(:definition) { { slug: "shop-refund", name: "Refund of the shop", graph: graph } }
    end
    studio.register(shop)
    assert_equal "tool_approval_required", studio.run(workflow: "shop-refund", message: "x").to_a.last.name
    assert_raises(ArgumentError) { studio.register(String) }
  end

  def test_a_fibre_that_waits_lets_others_run
    require "async"
    release = Thread::Queue.new
    run = slow { release.pop }
    order = []
    Async do |task|
      task.async { order << run.to_a.last.name }
      task.async { sleep 0.1; order << :tick; release << true }
    end
    assert_equal [:tick, "trace_completed"], order
  end

  def test_a_declaration_that_is_misspelt_or_takes_arguments_by_place_is_refused
    assert_match(/unknown keyword: :require_aproval/, assert_raises(ArgumentError) { studio.tool(:pay, require_aproval: true) { 1 } }.message)
    said = assert_raises(ArgumentError) { studio.tool(:pay) { |order_id, amount| [order_id, amount] } }.message
    assert_equal "the block of the tool `pay` takes its arguments by name, as in |order_id:, amount:|; only the call may stand before them", said
    refute_includes studio.host.declaration[:tools].map { |tool| tool[:name] }, "pay"
  end
end
