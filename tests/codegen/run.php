<?php

// Prints what exported classes return: php run.php FILES. The contracts are those of bindings/php.

declare(strict_types=1);

require __DIR__ . '/../../bindings/php/src/contracts.php';

$index = json_decode(file_get_contents($argv[1] . '/index.json'), true);
$all = [];
foreach ($index['classes'] as $class) {
    require $argv[1] . '/' . $class['path'];
    if (!is_subclass_of($class['full'], '\\Studio\\Studio' . ucfirst($class['kind']))) {
        exit($class['full'] . ' has no contract');
    }
    $all[$class['full']] = $class['full']::definition();
}
require $argv[1] . '/' . $index['skeleton'];
echo json_encode($all, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_UNESCAPED_UNICODE);
