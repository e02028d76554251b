# Owns `rails studio:work`.

namespace :studio do
  desc "Works on queued runs of the studio until SIGTERM"
  task work: :environment do
    WfStudio.rails.open(worker: { in_process: true }).work
  end
end
