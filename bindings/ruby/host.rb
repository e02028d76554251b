# Owns the conformance host: the scenario's application under Puma, as a Rack application or inside FRAMEWORK (rails, sinatra).

$LOAD_PATH.unshift(File.join(__dir__, "lib"))
require "json"
require "puma"
require "puma/configuration"
require "rack"
require "wfstudio"
require_relative "conformance/declaration"

CONFIG = JSON.parse(File.read(ENV.fetch("CONFIG")))
MAIN = Thread.current
MARKS = {
  user: ->(env) { env["HTTP_X_USER"] && { id: env["HTTP_X_USER"] } },
  gate: ->(env) { { "open" => true, "shut" => false }[env["HTTP_X_GATE"]] },
  tenant: ->(env) { env["HTTP_X_TENANT"] },
  authorized: ->(env) { env["HTTP_X_AUTHORIZED"] == "yes" }
}.freeze

# The application's own routes.
class Own
  def call(env)
    return [200, { "content-type" => "text/plain" }, ["pong"]] if env["PATH_INFO"] == "/own/ping"
    return json(Array.new(JOURNAL.size) { JOURNAL.pop }) if env["PATH_INFO"] == "/own/journal"
    return [404, { "content-type" => "text/plain" }, ["not here"]] unless env["PATH_INFO"].start_with?("/own/")

    body = env["rack.input"].read
    asked = env["PATH_INFO"].delete_prefix("/own/")
    send(asked == "call" ? :call_op : asked, body.empty? ? {} : JSON.parse(body))
  end

  private

  def json(value)
    [200, { "content-type" => "application/json" }, [JSON.generate(value)]]
  end

  def refusal(error)
    { error: error.code, problem: error.problem["code"] }
  end

  def run(asked)
    lines = []
    run = asked["run"] ? STUDIO.run(**asked["run"].transform_keys(&:to_sym)) : STUDIO.resume(**asked["resume"].transform_keys(&:to_sym))
    cancel = asked["cancel_after"]
    return count(run) if asked["count"]

    left = run.each do |event|
      lines << { event: event.name, data: event.data }
      break :left if event.name == asked["leave_after"]

      run.cancel if event.name == cancel
      cancel = nil if event.name == cancel
    end
    ndjson(lines << (left == :left ? { left: true } : { end: true }))
  rescue WfStudio::Error => e
    ndjson(lines << refusal(e))
  end

  def count(run)
    counted = tokens = 0
    run.each do |event|
      counted += 1
      tokens += 1 if event.name == "token"
    end
    ndjson([{ counted: counted, tokens: tokens }, { end: true }])
  end

  def ndjson(lines)
    [200, { "content-type" => "application/x-ndjson" }, lines.map { |line| "#{JSON.generate(line)}\n" }]
  end

  def call_op(asked)
    json({ result: STUDIO.call(asked["op"], **(asked["request"] || {}).transform_keys(&:to_sym)) })
  rescue WfStudio::Error => e
    json(refusal(e))
  end

  def close(_asked)
    STUDIO.close(2)
    json({ closed: true })
  end

  def crash(asked)
    case asked["how"]
    when "now" then exit!(70)
    when "exit" then MAIN.raise(SystemExit)
    else MAIN.raise(RuntimeError, "nobody catches this")
    end
    sleep
  end
end

def rack_app
  WfStudio::Mount.new(Own.new, STUDIO, **MARKS)
end

require_relative "conformance/#{ENV["FRAMEWORK"]}" if ENV["FRAMEWORK"]
STUDIO = ENV["FRAMEWORK"] == "rails" ? WfStudio.studio : WfStudio.open(CONFIG, threads: 16).tap { |studio| declare(studio) }

# SERVER=prefork is Puma's cluster, SERVER=unicorn is Unicorn: both fork their workers after the engine was used, and fork a worker that ended anew.
STUDIO.call("health") if ENV["SERVER"]
if ENV["SERVER"] == "unicorn"
  require "unicorn"
  server = Unicorn::HttpServer.new(rack_app, listeners: ["127.0.0.1:#{ENV.fetch("PORT")}"], preload_app: true, worker_processes: 6, timeout: 60)
  server.logger = Logger.new($stderr, level: Logger::WARN)
  server.start.join
  exit
end

settings = Puma::Configuration.new do |puma|
  if ENV["SERVER"] == "prefork"
    puma.workers 4
    puma.preload_app!
    puma.worker_check_interval 1
  end
  puma.bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
  puma.threads 0, 128
  puma.app ENV["FRAMEWORK"] ? framework_app : rack_app
  puma.force_shutdown_after 2
  puma.raise_exception_on_sigterm false
  puma.quiet
end
launcher = Puma::Launcher.new(settings)
# Streams end first: Puma waits for requests that are open.
launcher.events.on_booted { trap("TERM") { Thread.new { STUDIO.close(2) rescue nil; launcher.stop } } }
launcher.run
