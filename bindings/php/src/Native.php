<?php

// Owns the C functions: loaded with their first use, texts in, texts out. Only this file and Loader touch ext-ffi, so that both can be preloaded.

declare(strict_types=1);

namespace Studio;

/** The library in this process. */
final class Native
{
    private static ?\FFI $library = null;

    public static function library(): \FFI
    {
        return self::$library ??= self::ending(Loader::library());
    }

    /** Opens an engine; with a name, the one of that name in this process. */
    public static function open(string $config, ?string $name): int
    {
        return $name === null ? self::made('studio_engine_open', $config, strlen($config)) : self::made('studio_engine_shared', $name, $config, strlen($config));
    }

    public static function close(int $engine, int $milliseconds): int
    {
        return self::library()->studio_engine_close($engine, $milliseconds);
    }

    /** Declares what the host answers; calls are fetched. */
    public static function declare(int $engine, string $declaration): void
    {
        $code = self::library()->studio_host_set($engine, $declaration, strlen($declaration), null, null, null);
        self::check($code, 'this is no declaration of a host: a call has another name, or a tool is told wrongly');
    }

    /** The answer of an operation that calls nothing of the host. */
    public static function call(int $engine, string $operation): string
    {
        [$code, $bytes] = self::filled('studio_call', $engine, $operation, '{}', 2);
        self::check($code, $bytes);
        return $bytes;
    }

    /** Begins an operation and gives its stream. */
    public static function start(int $engine, string $operation, string $request, string $body = ''): int
    {
        return self::made('studio_start', $engine, $operation, $request, strlen($request), $body, strlen($body));
    }

    /**
     * Has a request answered on this thread, as far as that goes: the handle of what follows, or 0, and the head. A body that is text comes with the head.
     *
     * @return array{int, string}
     */
    public static function http(int $engine, string $head): array
    {
        $out = self::library()->new('uint64_t');
        [$code, $bytes] = self::filled('studio_http', $engine, $head, strlen($head), null, 0, \FFI::addr($out));
        self::check($code, $bytes);
        return [$out->cdata, $bytes];
    }

    /**
     * What a stream has, in whole events.
     *
     * @return array{int, string}
     */
    public static function next(int $stream, int $milliseconds): array
    {
        return self::filled('studio_stream_next_batch', $stream, $milliseconds, 0);
    }

    /**
     * The next call that waits to be fetched.
     *
     * @return array{int, string}
     */
    public static function nextCall(int $engine, int $milliseconds): array
    {
        return self::filled('studio_host_next', $engine, $milliseconds);
    }

    public static function complete(int $engine, int $call, int $kind, string $answer): int
    {
        return self::library()->studio_host_complete($engine, $call, $kind, $answer, strlen($answer));
    }

    public static function cancel(int $stream): void
    {
        self::check(self::library()->studio_stream_cancel($stream), '');
    }

    public static function leave(int $stream): void
    {
        self::library()->studio_stream_close($stream);
    }

    public static function check(int $code, string $bytes): void
    {
        if ($code < 0) {
            throw StudioError::of($code, $bytes);
        }
    }

    /**
     * Calls a function whose last parameter is a buffer: its code, and what was in the buffer.
     *
     * @return array{int, string}
     */
    private static function filled(string $function, mixed ...$given): array
    {
        $buffer = self::library()->new('studio_buf');
        $code = self::library()->$function(...[...$given, \FFI::addr($buffer)]);
        $bytes = $buffer->len > 0 ? \FFI::string($buffer->data, $buffer->len) : '';
        self::library()->studio_buf_free(\FFI::addr($buffer));
        return [$code, $bytes];
    }

    /** The same for a function that makes something: its handle. */
    private static function made(string $function, mixed ...$given): int
    {
        $out = self::library()->new('uint64_t');
        self::check(...self::filled($function, ...[...$given, \FFI::addr($out)]));
        return $out->cdata;
    }

    /** After a fatal error or an `exit` nothing else runs in this request: neither `finally` nor destructors. */
    private static function ending(\FFI $library): \FFI
    {
        $process = getmypid();
        $end = static function () use ($library, $process): void {
            try {
                if ($process === getmypid()) {
                    Calls::leaveAll();
                }
            } finally {
                if (PHP_SAPI === 'cli') {
                    // One thread: a call that is open now is answered by nobody.
                    $library->studio_shutdown(2_000);
                }
            }
        };
        // Behind the functions that the application registers: they may still read an answer.
        register_shutdown_function(static fn () => register_shutdown_function($end));
        return $library;
    }
}
