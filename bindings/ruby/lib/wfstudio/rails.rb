# Owns the studio inside Rails: configuration in an initializer, `mount WfStudio::Engine => "/"`, `rails studio:work`.

require "rails/engine"

module WfStudio
  # What `WfStudio.rails { |config| … }` sets. Marks take the request.
  class RailsConfig
    attr_accessor :studio, :user, :gate, :tenant, :authorized, :base_url

    def initialize
      @studio = {}
      @declarations = []
    end

    # Takes a block that declares tools, answers and classes.
    def declare(&block)
      @declarations << block
    end

    def open(**more)
      # Deep: that the worker runs in its process leaves the other keys of `worker` as they are.
      studio = WfStudio.open(self.studio.deep_symbolize_keys.deep_merge(more))
      # As the work of a request: connections to the database go back when a call has ended.
      studio.host.around = ->(&work) { ::Rails.application.executor.wrap(&work) }
      @declarations.each { |block| block.call(studio) }
      studio
    end

    def marks
      %i[user gate tenant authorized base_url].reject { |name| public_send(name).nil? }.to_h { |name| [name, mark(name)] }
    end

    private

    # Read with each request: an initializer may come after the routes.
    def mark(name)
      lambda do |env|
        said = public_send(name)
        said.respond_to?(:call) ? said.call(ActionDispatch::Request.new(env)) : said
      end
    end
  end

  @rails = RailsConfig.new
  @opening = Mutex.new

  class << self
    # The configuration of the studio of this application.
    def rails
      yield @rails if block_given?
      @rails
    end

    # The studio of this application, opened with its first use.
    def studio
      @studio || @opening.synchronize { @studio ||= @rails.open }
    end
  end

  # The routes and pages, for `config/routes.rb`.
  class Engine < ::Rails::Engine
    # Opened when the first request comes.
    module Endpoint
      def self.call(env)
        (@mount ||= Mount.new(WfStudio.studio, **WfStudio.rails.marks)).call(env)
      end
    end

    # Rails itself loads `lib/tasks/studio.rake`; loaded twice, the command would run twice, one after the other.
    endpoint Endpoint
  end
end
