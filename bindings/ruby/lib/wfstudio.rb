# Owns what `require "wfstudio"` gives: Workflow Studio inside a Ruby application.

require "json"
require "time"
require "wfstudio/version"
require "wfstudio/contracts"
require "wfstudio/error"
require "wfstudio/generated"
require "wfstudio/loader"
require "wfstudio/native"
require "wfstudio/event"
require "wfstudio/stream"
require "wfstudio/core"
require "wfstudio/host"
require "wfstudio/mount"
require "wfstudio/studio"

# Workflow Studio: agents and workflows inside the process of a web application.
module WfStudio
  # Opens a studio: `WfStudio.open(database: { path: "studio.sqlite" })`. Nothing is loaded or started before its first use.
  def self.open(config = nil, name: nil, threads: 8, **keys)
    Studio.new((config || {}).merge(keys), name: name, threads: threads)
  end
end

require "wfstudio/rails" if defined?(Rails::Engine)
