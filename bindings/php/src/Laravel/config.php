<?php

// The studio. `config` has the keys of docs/configuration.md, dotted ones nested.

return [
    'config' => [
        'environment' => env('STUDIO_ENV', env('APP_ENV', 'production')),
        'database' => ['path' => env('STUDIO_DATABASE_PATH', database_path('studio.sqlite'))],
    ],
];
