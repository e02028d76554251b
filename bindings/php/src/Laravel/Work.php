<?php

// Owns `artisan studio:work`.

declare(strict_types=1);

namespace Studio\Laravel;

use Illuminate\Console\Command;
use Studio\Studio;

final class Work extends Command
{
    protected $signature = 'studio:work';

    protected $description = 'Works on queued runs of the studio until SIGTERM';

    public function handle(Studio $studio): int
    {
        $studio->work(tell: function (string $line): void {
            $this->info($line);
            if (!filter_var(getenv('STUDIO_ASYNC_RUNS_ENABLED') ?: config('studio.config.async_runs_enabled'), FILTER_VALIDATE_BOOLEAN)) {
                $this->warn('`async_runs_enabled` is off: it only continues runs whose process died.');
            }
        });
        return 0;
    }
}
