# Owns `rails generate wfstudio:install`: an initializer, a line in the routes, and the folder of the database.

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

      # An application without Active Storage has no such folder. The file is not for the repository: it has what people wrote.
      def folder
        create_file "storage/.keep"
        ignored = File.join(destination_root, ".gitignore")
        return unless File.exist?(ignored)

        append_to_file ".gitignore", "\n/storage/studio.sqlite*\n" unless File.read(ignored).match?(%r{^/storage/(\*|studio)})
      end
    end
  end
end
