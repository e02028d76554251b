# Owns proof about processes: forks without hooks, and ends of every kind with a stream open.

require_relative "helper"

class TestProcess < StudioTest
  OPEN = <<~RUBY
    studio = WfStudio.open(environment: "local", database: { path: ARGV[0] })
    studio.tool(:slow, require_approval: false, schema: { type: "object" }) { sleep 30 }
    studio.call("workflow.save", **JSON.parse(ARGV[1], symbolize_names: true))
    readers = Array.new(4) { Thread.new { studio.run(workflow: "slow", message: "x").each { |event| } rescue nil } }
    sleep 0.3
    $stdout.write("open")
    $stdout.flush
  RUBY

  def test_a_child_opens_its_own_engine_without_a_hook
    assert_equal "tool_approval_required", asked.name
    2.times do
      child = fork do
        ok = asked.name == "tool_approval_required" && studio.call("health")["status"] == "ok"
        studio.close
        exit!(ok ? 0 : 1)
      end
      assert_equal 0, Timeout.timeout(30) { Process.wait2(child) }[1].exitstatus
    end
    assert_equal "ok", studio.call("health")["status"]
  end

  def test_a_fork_while_threads_read_leaves_both_working
    release = Thread::Queue.new
    run = slow { release.pop }
    reader = Thread.new { run.to_a }
    eventually { release.num_waiting == 1 }
    child = fork { exit!(studio.call("health")["status"] == "ok" ? 0 : 1) }
    assert_equal 0, Timeout.timeout(30) { Process.wait2(child) }[1].exitstatus
    release << true
    assert_equal "trace_completed", Timeout.timeout(30) { reader.value }.last.name
  end

  { "the end of the program" => ["", 0], "an exception" => ["raise 'nobody catches this'", 1], "exit in a thread" => ["Thread.new { exit 4 }.join; sleep", 4],
    "exit!" => ["exit!(70)", 70], "a signal that is caught" => ["trap('TERM') { exit 5 }; Process.kill('TERM', $$); sleep", 5] }.each do |name, (ending, code)|
    define_method("test_#{name.tr(" ", "_")}_with_streams_open") do
      output, status = program(OPEN + ending, "#{@folder}/exit.sqlite", JSON.generate(SLOW))
      assert_equal code, status.exitstatus, "#{status} #{output}"
      assert_match(/\Aopen/, output)
    end
  end

  def test_calls_that_wait_for_a_thread_make_none_while_the_program_ends
    script = "pool = WfStudio::Pool.new(1, 'test'); begun = Queue.new; 2.times { pool.call { begun << true; sleep } }; begun.pop"
    output, status = program(script)
    assert_equal [0, ""], [status.exitstatus, output]
  end

  def test_a_tool_process_ends_with_sigterm
    script = "studio = WfStudio.open(environment: 'local', database: { path: ARGV[0] }); studio.define_singleton_method(:start) { super().tap { Thread.new { sleep 0.5; Process.kill('TERM', $$) } } }; studio.work; puts 'ended'"
    output, status = program(script, "#{@folder}/work.sqlite")
    assert_equal [0, "ended\n"], [status.exitstatus, output]
  end
end
