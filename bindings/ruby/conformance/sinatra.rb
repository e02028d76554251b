# Owns the scenario's application inside Sinatra: the studio is middleware.

require "sinatra/base"

def framework_app
  Class.new(Sinatra::Base) do
    set :environment, :production
    disable :protection, :logging
    use WfStudio::Mount, STUDIO, **MARKS
    own = Own.new
    %i[get post].each { |verb| public_send(verb, "/own/*") { |_| own.call(env) } }
  end
end
