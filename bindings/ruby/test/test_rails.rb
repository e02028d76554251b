# Owns proof about Rails: the generator's files are an application that serves, answers a tool, and has its command; Puma's cluster needs no hook.

require_relative "helper"
require "fileutils"
require "net/http"

class TestRails < Minitest::Test
  LIB = File.expand_path("../lib", __dir__)

  def setup
    @folder = Dir.mktmpdir
    write ".gitignore", "/log\n"
    write "config/application.rb", <<~RUBY
      $LOAD_PATH.unshift("#{LIB}")
      require "rails"
      require "action_controller/railtie"
      require "wfstudio"
      class Application < Rails::Application
        config.root = "#{@folder}"
        config.eager_load = true
        config.secret_key_base = "0" * 64
        config.hosts.clear
        config.logger = Logger.new($stderr, level: Logger::WARN)
      end
    RUBY
    write "config/environment.rb", %(require_relative "application"\nRails.application.initialize!\n)
    write "config/routes.rb", %(Rails.application.routes.draw do\n  get "/own", to: ->(_) { [200, {}, ["own"]] }\nend\n)
    write "config.ru", %(require_relative "config/environment"\nrun Rails.application\n)
    write "Rakefile", %(require_relative "config/application"\nRails.application.load_tasks\n)
    write "bin/rails", %(APP_PATH = File.expand_path("../config/application", __dir__)\nrequire_relative "../config/application"\nrequire "rails/commands"\n)
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def write(name, text)
    FileUtils.mkdir_p(File.dirname("#{@folder}/#{name}"))
    File.write("#{@folder}/#{name}", text)
  end

  def rails(*arguments)
    output, status = Open3.capture2e(RbConfig.ruby, "bin/rails", *arguments, chdir: @folder)
    assert status.success?, output
    output
  end

  def test_the_generated_application_serves_in_a_cluster_that_opened_before_its_forks
    rails("generate", "wfstudio:install")
    assert_includes File.read("#{@folder}/config/routes.rb"), 'mount WfStudio::Engine => "/"'
    initializer = File.read("#{@folder}/config/initializers/wfstudio.rb")
    write "config/initializers/wfstudio.rb", initializer.sub("{ Rails.env.development? }", "{ |*| true }").sub("->(_request) { |*| true }", "true")
                                                        .sub('config.studio = { ', 'config.studio = { environment: "local", ')
    write "config/puma.rb", "workers 2\npreload_app!\nthreads 0, 8\nforce_shutdown_after 1\nraise_exception_on_sigterm false\n"
    write "config.ru", %(require_relative "config/environment"\nWfStudio.studio.call("health")\nrun Rails.application\n)
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    server = Process.spawn("puma", "-q", "-b", "tcp://127.0.0.1:#{port}", chdir: @folder, %i[out err] => "#{@folder}/log")
    get = ->(path) { Net::HTTP.get_response(URI("http://127.0.0.1:#{port}#{path}")) }
    Timeout.timeout(40) { sleep 0.1 until (get["/own"] rescue nil) }
    codes = Array.new(8) { Thread.new { get["/studio/api/agents"].code } }.map(&:value)
    assert_equal ["200"] * 8, codes, File.read("#{@folder}/log")
    assert_includes get["/studio/"].body, '<meta name="studio-root" content="./">'
    assert_includes get["/studio/agents/"].body, '<meta name="studio-root" content="../">'
    assert_equal "own", get["/own"].body
    assert_equal "404", get["/nothing"].code
  ensure
    Process.kill("TERM", server)
    assert_equal 0, Timeout.timeout(15) { Process.wait2(server) }[1].exitstatus
  end

  def test_the_database_has_its_folder_and_is_not_for_the_repository
    rails("generate", "wfstudio:install")
    assert_path_exists "#{@folder}/storage/.keep"
    assert_equal "/log\n\n/storage/studio.sqlite*\n", File.read("#{@folder}/.gitignore")
  end

  def test_the_worker_keeps_the_other_keys_of_its_section
    write "config/initializers/wfstudio.rb", %(WfStudio.rails { |config| config.studio = { worker: { in_process: false, "concurrency" => 3 } } }\n)
    config = rails("runner", "puts WfStudio.rails.open(worker: { in_process: true }).instance_variable_get(:@config).to_json")
    assert_includes config, '{"worker":{"in_process":true,"concurrency":3}}'
  end

  def test_the_command_works_until_sigterm
    rails("generate", "wfstudio:install")
    assert_includes rails("-T"), "studio:work"
    input, output, worker = Open3.popen2e(RbConfig.ruby, "bin/rails", "studio:work", chdir: @folder)
    said = +""
    Timeout.timeout(40) { said << (output.gets || flunk(said)) until said.include?("takes queued runs") } # while it works, not at its end
    Timeout.timeout(40) { sleep 0.1 until File.exist?("#{@folder}/storage/studio.sqlite") }
    sleep 4
    Process.kill("TERM", worker.pid)
    assert_equal 0, Timeout.timeout(15) { worker.value }.exitstatus, output.read
  ensure
    Process.kill("KILL", worker.pid) if worker&.alive?
    [input, output].each { |io| io&.close }
  end
end
