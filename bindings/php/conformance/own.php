<?php

// Owns the routes of the scenario's application itself, by the native API.

declare(strict_types=1);

use Studio\Studio;
use Studio\StudioError;

require dirname(__DIR__) . '/tests/autoload.php';
require __DIR__ . '/declaration.php';

function configuration(): array
{
    return json_decode(file_get_contents(getenv('CONFIG')), true);
}

function answered(mixed $value, string $type = 'application/json'): void
{
    header("Content-Type: $type");
    echo is_string($value) ? $value : json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
}

function refusal(StudioError $error): array
{
    return ['error' => $error->getCode(), 'problem' => $error->problem['code'] ?? null];
}

function ran(Studio $studio, array $asked): string
{
    $lines = [];
    try {
        $run = isset($asked['run']) ? $studio->run(...$asked['run']) : $studio->resume(...$asked['resume']);
        $cancel = $asked['cancel_after'] ?? null;
        $last = ['end' => true];
        $counts = $asked['count'] ?? false;
        $counted = $tokens = 0;
        foreach ($run as $event) {
            if ($counts) {
                $counted++;
                $tokens += (int) ($event->name === 'token');
                continue;
            }
            $lines[] = ['event' => $event->name, 'data' => json_decode($event->json)];
            if ($event->name === ($asked['leave_after'] ?? null)) {
                $last = ['left' => true];
                break;
            }
            if ($event->name === $cancel) {
                $run->cancel();
                $cancel = null;
            }
        }
        if ($counts) {
            $lines[] = ['counted' => $counted, 'tokens' => $tokens];
        }
        $lines[] = $last;
    } catch (StudioError $error) {
        $lines[] = refusal($error);
    }
    return implode('', array_map(fn (array $line): string => json_encode($line, JSON_UNESCAPED_UNICODE) . "\n", $lines));
}

/** What was noted until now, and no longer. */
function journal(): array
{
    $file = fopen(getenv('DATABASE') . '.journal', 'c+');
    flock($file, LOCK_EX);
    $lines = stream_get_contents($file);
    ftruncate($file, 0);
    fclose($file);
    return array_map('json_decode', array_filter(explode("\n", $lines)));
}

/** Answers a request of the application itself; says whether it was one. */
function own(): bool
{
    $path = explode('?', $_SERVER['REQUEST_URI'])[0];
    if (!str_starts_with($path, '/own/')) {
        return false;
    }
    $studio = declared(Studio::shared(configuration()));
    // Maps stay objects below the first level: an empty one is to stay a map.
    $asked = array_map(fn (mixed $part): mixed => is_object($part) ? (array) $part : $part, (array) json_decode((string) file_get_contents('php://input')));
    match ($path) {
        '/own/ping' => answered('pong', 'text/plain'),
        '/own/journal' => answered(journal()),
        '/own/run' => answered(ran($studio, $asked), 'application/x-ndjson'),
        '/own/call' => (function () use ($studio, $asked): void {
            try {
                answered(['result' => $studio->call($asked['op'], $asked['request'] ?? [], associative: false)]);
            } catch (StudioError $error) {
                answered(refusal($error));
            }
        })(),
        '/own/close' => (function () use ($studio): void {
            $studio->close(2);
            answered(['closed' => true]);
        })(),
        '/own/crash' => posix_kill((int) file_get_contents(getenv('DATABASE') . '.pid'), ['exit' => SIGTERM, 'throw' => SIGUSR1, 'now' => SIGUSR2][$asked['how']]),
    };
    return true;
}
