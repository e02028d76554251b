# Owns `rails studio:work`.

namespace :studio do
  desc "Works on queued runs of the studio until SIGTERM"
  task work: :environment do
    studio = WfStudio.rails.open(worker: { in_process: true })
    puts "studio:work: takes queued runs until SIGTERM"
    $stdout.flush # a file or a pipe would have it at the end only
    studio.work
  end
end
