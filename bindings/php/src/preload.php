<?php

// Owns what `opcache.preload` takes: the two files that touch ext-ffi, and what they name. It opens nothing.

declare(strict_types=1);

foreach (['StudioError', 'errors', 'UnsupportedPlatform', 'Abi', 'Loader', 'Native'] as $name) {
    require_once __DIR__ . "/$name.php";
}
