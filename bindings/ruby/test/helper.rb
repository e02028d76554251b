# Owns what tests share: an engine with the refund workflow and a database of its own, programs that run beside the test.

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "minitest/autorun"
require "open3"
require "socket"
require "timeout"
require "tmpdir"
require "wfstudio"

EXAMPLES = File.expand_path("../../../examples", __dir__)
SLOW = {
  slug: "slow", name: "Slow", graph: {
    version: 1,
    nodes: [["start", "start", {}], ["tool", "tool", { tool_ref: "host:slow" }], ["stop", "stop", {}]].map do |id, type, data|
      { id: id, type: type, data: data, position: { x: 0, y: 0 } }
    end,
    edges: [%w[a start tool], %w[b tool stop]].map do |id, source, target|
      { id: id, source: source, target: target, sourceHandle: "default", targetHandle: "default" }
    end
  }
}.freeze

# A test with a studio.
class StudioTest < Minitest::Test
  attr_reader :studio, :refunds

  def setup
    @folder = Dir.mktmpdir
    @refunds = []
    @studio = open_studio("studio")
    refunds = @refunds
    declared = JSON.parse(File.read("#{EXAMPLES}/refund.host.json"), symbolize_names: true)[:tools][0]
    @studio.tool(declared[:name], schema: declared[:input_schema], **declared.slice(:description, :require_approval)) do |order_id:, amount:|
      refunds << [order_id, amount]
      { order_id: order_id, refunded: true }
    end
    @studio.call("workflow.save", **JSON.parse(File.read("#{EXAMPLES}/refund.json"), symbolize_names: true))
  end

  def teardown
    @studio.close
    FileUtils.rm_rf(@folder)
  end

  def open_studio(name)
    WfStudio.open(**JSON.parse(File.read("#{EXAMPLES}/refund.config.json"), symbolize_names: true), database: { path: "#{@folder}/#{name}.sqlite" })
  end

  # Another studio, whose tools run where the application says.
  def with_executor(executor)
    @studio.close
    @studio = open_studio("other")
    @studio.host.executor = executor
  end

  # A workflow whose one tool takes the block as its work.
  def slow(timeout_ms: 60_000, &block)
    @studio.tool(:slow, require_approval: false, schema: { type: "object" }, timeout_ms: timeout_ms, &block)
    @studio.call("workflow.save", **SLOW)
    @studio.run(workflow: "slow", message: "x")
  end

  def asked
    @studio.run(workflow: "refund", message: "Please refund order A-100").to_a.last
  end

  # Runs a program with this binding; gives its output and how it ended.
  def program(text, *arguments)
    Timeout.timeout(60) { Open3.capture2e(RbConfig.ruby, "-I", File.expand_path("../lib", __dir__), "-rwfstudio", "-e", text, *arguments) }
  end

  def eventually(seconds = 30)
    ending = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    until (found = yield)
      flunk("it did not come to be in #{seconds} s") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ending
      sleep 0.02
    end
    found
  end
end
