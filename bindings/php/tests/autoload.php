<?php

// Owns loading without Composer, for tests.

declare(strict_types=1);

foreach (['errors', 'contracts'] as $name) {
    require_once dirname(__DIR__) . ($name === 'errors' ? '/src/StudioError.php' : '/src/contracts.php');
    require_once dirname(__DIR__) . "/src/$name.php";
}
spl_autoload_register(static function (string $class): void {
    $file = dirname(__DIR__) . '/src/' . strtr(substr($class, 7), '\\', '/') . '.php';
    if (str_starts_with($class, 'Studio\\') && is_file($file)) {
        require_once $file;
    }
});
