<?php

// Prints what exported classes return: php run.php STUBS FILES

declare(strict_types=1);

require $argv[1] . '/StudioContracts.php';

$index = json_decode(file_get_contents($argv[2] . '/index.json'), true);
$all = [];
foreach ($index['classes'] as $class) {
    require $argv[2] . '/' . $class['path'];
    if (!is_subclass_of($class['full'], '\\Studio\\Studio' . ucfirst($class['kind']))) {
        exit($class['full'] . ' has no contract');
    }
    $all[$class['full']] = $class['full']::definition();
}
require $argv[2] . '/' . $index['skeleton'];
echo json_encode($all, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_UNESCAPED_UNICODE);
