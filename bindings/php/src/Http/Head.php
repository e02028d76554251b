<?php

// Owns how a request of PHP is written for the engine: its raw path, its headers, the marks of the host.

declare(strict_types=1);

namespace Studio\Http;

/** The head of a request. */
final class Head
{
    private const UNSAFE = '~[^A-Za-z0-9%/:?#\[\]@!$&\'()*+,;=._-]|%(?![0-9A-Fa-f]{2})~';

    /**
     * @param array<string, mixed> $server as $_SERVER
     * @param array<string, mixed> $marks values, or what is called with `$given`
     * @return array<string, mixed>
     */
    public static function of(array $server, array $marks, mixed ...$given): array
    {
        $head = ['method' => $server['REQUEST_METHOD'] ?? 'GET', 'path' => self::path($server), 'query' => self::escaped(self::query($server)), 'headers' => self::headers($server)];
        if (($root = self::root($server, $head['path'])) !== '') {
            $head['root_path'] = $root;
        }
        foreach ($marks as $name => $mark) {
            $asked = $mark instanceof \Closure || (!is_string($mark) && is_callable($mark));
            $said = $asked ? $mark(...$given) : $mark;
            // A gate that was asked and says nothing lets nobody in who is merely named.
            if ($said !== null || ($asked && $name === 'gate')) {
                $head[$name] = $said;
            }
        }
        return $head;
    }

    /**
     * The path as the client sent it.
     *
     * @param array<string, mixed> $server
     */
    public static function path(array $server): string
    {
        $target = preg_replace('~^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*~', '', (string) ($server['REQUEST_URI'] ?? '/'));
        $path = preg_split('~[?#]~', (string) $target)[0];
        return self::escaped($path === '' ? '/' : $path);
    }

    /**
     * True when a path is below one of the mounts, with or without what stands before them.
     *
     * @param list<string> $mounts
     */
    public static function within(array $mounts, string $path, string $root = ''): bool
    {
        $inside = $root !== '' && str_starts_with($path, $root) ? substr($path, strlen($root)) : $path;
        foreach ($mounts as $mount) {
            if ($inside === $mount || str_starts_with($inside, "$mount/")) {
                return true;
            }
        }
        return false;
    }

    /**
     * What stands before the studio: the folder of the script that takes the requests, or the script.
     *
     * @param array<string, mixed> $server
     */
    public static function root(array $server, string $path): string
    {
        $script = (string) ($server['SCRIPT_NAME'] ?? '');
        if (!str_ends_with($script, '.php')) {
            return '';
        }
        foreach ([$script, rtrim(dirname($script), '/')] as $root) {
            if ($root !== '' && ($path === $root || str_starts_with($path, "$root/"))) {
                return self::escaped($root);
            }
        }
        return '';
    }

    /** @param array<string, mixed> $server */
    private static function query(array $server): string
    {
        return (string) ($server['QUERY_STRING'] ?? '');
    }

    /**
     * @param array<string, mixed> $server
     * @return list<array{string, string}>
     */
    private static function headers(array $server): array
    {
        $headers = [];
        foreach ($server as $name => $value) {
            if (is_string($value) && $value !== '' && (str_starts_with((string) $name, 'HTTP_') || in_array($name, ['CONTENT_TYPE', 'CONTENT_LENGTH'], true))) {
                $headers[$name] = [str_replace('_', '-', preg_replace('/^HTTP_/', '', $name)), self::text($value)];
            }
        }
        // Some servers give these twice.
        unset($headers['HTTP_CONTENT_TYPE'], $headers['HTTP_CONTENT_LENGTH']);
        return array_values($headers);
    }

    /** Old clients send latin-1. */
    public static function text(string $value): string
    {
        return mb_check_encoding($value, 'UTF-8') ? $value : mb_convert_encoding($value, 'UTF-8', 'ISO-8859-1');
    }

    public static function escaped(string $text): string
    {
        return preg_replace_callback(self::UNSAFE, fn (array $found): string => rawurlencode($found[0]), $text);
    }
}
