<?php

// Owns the scenario's application without a framework.

declare(strict_types=1);

use Studio\Studio;

require __DIR__ . '/own.php';

$studio = declared(Studio::shared(configuration()));
own() || $studio->serve(...marks(fn (string $name): ?string => $_SERVER['HTTP_' . strtr(strtoupper($name), '-', '_')] ?? null)) || http_response_code(404);
