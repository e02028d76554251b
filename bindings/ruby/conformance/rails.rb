# Owns the scenario's application inside Rails: an initializer, one line in the routes.

require "rails"
require "action_controller/railtie"
require "wfstudio/rails"

WfStudio.rails do |config|
  config.studio = CONFIG
  config.user = ->(request) { MARKS[:user].call(request.env) }
  config.gate = ->(request) { MARKS[:gate].call(request.env) }
  config.tenant = ->(request) { MARKS[:tenant].call(request.env) }
  config.authorized = ->(request) { MARKS[:authorized].call(request.env) }
  config.declare { |studio| declare(studio) }
end

# The application.
class App < Rails::Application
  config.eager_load = true
  config.secret_key_base = "0" * 64
  config.logger = Logger.new($stderr, level: Logger::WARN)
  config.hosts.clear
  # What the studio says about caching is compared byte for byte.
  config.middleware.delete Rack::ETag
  routes.append do
    match "/own/*path", to: Own.new, via: %i[get post]
    mount WfStudio::Engine => "/"
  end
end

def framework_app
  App.initialize!
end
