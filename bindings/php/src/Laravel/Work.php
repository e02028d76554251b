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
        $studio->work();
        return 0;
    }
}
