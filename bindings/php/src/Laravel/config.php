<?php

// The studio. `config` has the keys of docs/configuration.md, dotted ones nested; a variable STUDIO_… overrides its key.

return [
    'config' => [
        'environment' => env('STUDIO_ENV', env('APP_ENV', 'production')),
        // `admin/studio` puts the pages below /admin/studio; Route::studio() follows.
        'route_prefix' => env('STUDIO_ROUTE_PREFIX', 'studio'),
        // A file of the studio alone, which the web server and `artisan studio:work` may both write.
        'database' => ['path' => env('STUDIO_DATABASE', database_path('studio.sqlite'))],
        // Runs in the queue, which `artisan studio:work` works on.
        'async_runs_enabled' => filter_var(env('STUDIO_ASYNC_RUNS_ENABLED', false), FILTER_VALIDATE_BOOLEAN),
    ],
];
