# Owns proof of what becomes of calls to the host when things go wrong: results that are no JSON, calls that are not read, threads that are not there.

require_relative "helper"
require "minitest/mock"

class TestCalls < StudioTest
  # What an engine is told.
  class Told
    attr_reader :answers

    def initialize(refuses: false)
      @answers, @refuses = [], refuses
    end

    def complete(_id, kind, text)
      raise WfStudio::Invalid if @refuses && kind == 1

      @answers << [kind, JSON.parse(text, max_nesting: false)]
    end
  end

  def answered(op, told = Told.new, &work)
    WfStudio::Call.new(told, { "call_id" => 1, "op" => op, "payload" => {} }).answer(&work)
    assert_equal 1, told.answers.size
    told.answers[0]
  end

  def test_a_tool_that_ran_is_not_told_as_one_that_failed
    odd = Object.new
    def odd.as_json = raise(WfStudio::Failure, "no JSON of this")
    deep = 200.times.inject(1) { |inner, _| [inner] }
    { -> { "\xff".b } => "UTF-8", -> { Float::NAN } => "NaN", -> { odd } => "no JSON of this", -> { deep } => "nesting" }.each do |work, why|
      kind, answer = answered("tool.call", &work)
      assert_equal [0, true], [kind, answer["ran"]], why
      assert_match(/\Athe tool ran, but its result could not be written as JSON \(.*#{why}/, answer["message"])
      assert_nil answered("gate", &work)[1]["ran"]
    end
    assert_equal [0, true], answered("tool.call", Told.new(refuses: true)) { "x" }.then { |kind, answer| [kind, answer["ran"]] }
    assert_equal [0, { "message" => "ArgumentError: the till is empty" }], answered("tool.call") { raise ArgumentError, "the till is empty" }
    assert_equal [1, 110.times.inject(1) { |inner, _| [inner] }], answered("tool.call") { 110.times.inject(1) { |inner, _| [inner] } }
  end

  def test_a_deep_call_is_read_and_one_that_cannot_be_taken_stops_no_other
    deep = 94.times.inject([]) { |inner, _| [inner] }
    @studio.close
    @studio = WfStudio.open(environment: "local", database: { path: "#{@folder}/own.sqlite" }, providers: { own: { kind: "host", models: [{ id: "m" }] } })
    seen = []
    studio.tool(:nest, schema: { type: "object" }) { |in:| seen << binding.local_variable_get(:in) && "done" }
    studio.answer("provider.chat") do |asked|
      next { message: { role: "assistant", content: "done" }, finish_reason: "stop" } if asked["messages"].any? { |one| one["role"] == "tool" }

      { message: { role: "assistant", content: "" }, tool_calls: [{ id: "c", name: "nest", arguments: { in: deep } }], finish_reason: "tool_calls" }
    end
    studio.call("agent.save", slug: "own", name: "Own", provider: "own", model: "m", tools: [{ ref: "host:nest" }])
    assert_equal "done", Timeout.timeout(30) { studio.run(agent: "own", message: "x").to_a.last.name }
    assert_equal [deep], seen

    calls = studio.host.singleton_class
    calls.define_method(:answers?) { |*asked| @broken = @broken.to_i + 1; @broken == 1 ? raise("it is broken") : super(*asked) }
    assert_output(nil, /it is broken/) do
      told = Timeout.timeout(30) { slow { "never" }.to_a }
      assert_includes told.map(&:data).to_s, "nothing was done"
    end
    assert_equal "trace_completed", Timeout.timeout(30) { slow { "done" }.to_a.last.name }
  end

  def test_a_call_without_a_thread_runs_on_one_that_is_there_or_not_at_all
    pool = WfStudio::Pool.new(2, "test")
    begun, leave, ran = Thread::Queue.new, Thread::Queue.new, Thread::Queue.new
    none = ->(*) { raise ThreadError, "can't create Thread" }
    Thread.stub(:new, none) { assert_raises(ThreadError) { pool.call { ran << :first } } }
    pool.call { begun << true; leave.pop }
    Timeout.timeout(30) { begun.pop }
    Thread.stub(:new, none) { pool.call { ran << :second } }
    leave << true
    assert_equal %i[first second], Array.new(2) { Timeout.timeout(30) { ran.pop } }
  ensure
    pool.close
  end

  def test_a_call_that_comes_after_the_end_is_refused_and_leaves_no_thread
    host, told = WfStudio::Host.new(4), Told.new
    host.answer("gate", ->(*) { true })
    calls = host.calls(told)
    calls.close
    before = Thread.list
    calls.take({ "op" => "gate", "call_id" => 1, "payload" => {} })
    assert_empty Thread.list - before
    assert_equal [[0, { "message" => "the studio was closed; nothing was done" }]], told.answers
    assert_predicate calls, :idle?
  end

  # The first call of an op and the end at once: neither may change what the other reads.
  def test_pools_are_made_and_ended_one_after_the_other
    made, leave = Thread::Queue.new, Thread::Queue.new
    calls = WfStudio::Host.new(4).calls(Told.new)
    slow = lambda do |*|
      made << true
      leave.pop
      Object.new.tap { |pool| pool.define_singleton_method(:call) { |&job| } }
    end
    WfStudio::Pool.stub(:new, slow) do
      taking = Thread.new { calls.take({ "op" => "gate", "call_id" => 1, "payload" => {} }) }
      Timeout.timeout(30) { made.pop }
      ending = Thread.new { calls.close }
      refute ending.join(0.2), "it ended while a pool was made"
      leave << true
      [taking, ending].each { |thread| assert thread.join(30) }
    end
  end

  def test_threads_that_calls_have_ended_are_made_anew
    pool = WfStudio::Pool.new(1, "test")
    2.times { pool.call { Thread.exit } }
    sleep 0.1
    ran = Thread::Queue.new
    pool.call { ran << true }
    assert Timeout.timeout(30) { ran.pop }
  ensure
    pool.close
  end

  def test_a_failure_whose_text_fails_is_told_all_the_same
    mute = Class.new(StandardError) { def message = raise("no text") }
    assert_match(/Class/, answered("tool.call") { raise mute }[1]["message"])
    assert_equal [0, { "message" => "" }], answered("tool.call") { raise Class.new(WfStudio::Failure) { def message = nil } }
  end

  def test_who_may_enter_does_not_wait_behind_models
    host, leave, told = WfStudio::Host.new(4), Thread::Queue.new, Thread::Queue.new
    host.answer("provider.chat", ->(*) { leave.pop })
    host.answer("gate", ->(*) { told << true })
    calls = host.calls(Told.new)
    8.times { |number| calls.take({ "op" => "provider.chat", "call_id" => number, "payload" => {} }) }
    calls.take({ "op" => "gate", "call_id" => 9, "payload" => {} })
    assert Timeout.timeout(30) { told.pop }
  ensure
    leave.close
    calls.close
  end

  def test_a_call_that_was_told_as_failed_is_not_run
    jobs, ran = [], []
    with_executor(lambda { |&job| jobs << job and raise "the queue is full" })
    assert_includes Timeout.timeout(30) { slow { ran << true }.to_a }.map(&:data).to_s, "the queue is full"
    jobs.each(&:call)
    assert_empty ran
  end
end
