# Owns `rails generate wfstudio:install`: an initializer, and a line in the routes.

require "rails/generators"

module Wfstudio
  module Generators
    # Puts the studio into an application.
    class InstallGenerator < ::Rails::Generators::Base
      source_root File.expand_path("templates", __dir__)

      def initializer
        template "wfstudio.rb", "config/initializers/wfstudio.rb"
      end

      def routes
        route 'mount WfStudio::Engine => "/"'
      end
    end
  end
end
