# Owns the gem. With the folder lib/wfstudio/native/<target> it is the gem of that platform, without it the plain one.

require_relative "lib/wfstudio/version"

Gem::Specification.new do |gem|
  gem.name = "wfstudio"
  gem.version = WfStudio::VERSION
  gem.summary = "Workflow Studio: build, test and run AI agents and graph workflows inside a web application"
  gem.license = "MIT"
  gem.authors = ["Workflow Studio"]
  gem.required_ruby_version = ">= 3.0"
  gem.platform = ENV.fetch("WFSTUDIO_PLATFORM", Gem::Platform::RUBY)
  gem.files = Dir.chdir(__dir__) { Dir["lib/**/*", "README.md", "LICENSE"].select { |file| File.file?(file) } }
  gem.metadata = { "rubygems_mfa_required" => "true" }
  gem.add_dependency "ffi", "~> 1.15"
end
