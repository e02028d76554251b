<?php

// Owns the C functions: loaded with their first use, texts in, texts out. Only this file and Loader touch ext-ffi, so that both can be preloaded.

declare(strict_types=1);

namespace Studio;

/** The library in this process. */
final class Native
{
    /** The scope of `ffi.preload`. */
    public const SCOPE = 'WFSTUDIO';

    private static ?\FFI $library = null;

    public static function library(): \FFI
    {
        return self::$library ??= self::ending(self::load());
    }

    /** Opens an engine; with a name, the one of that name in this process. */
    public static function open(string $config, ?string $name): int
    {
        $out = self::library()->new('uint64_t');
        $problem = self::library()->new('studio_buf');
        $code = $name === null
            ? self::library()->studio_engine_open($config, strlen($config), \FFI::addr($out), \FFI::addr($problem))
            : self::library()->studio_engine_shared($name, $config, strlen($config), \FFI::addr($out), \FFI::addr($problem));
        self::check($code, self::take($problem));
        return $out->cdata;
    }

    public static function close(int $engine, int $milliseconds): int
    {
        return self::library()->studio_engine_close($engine, $milliseconds);
    }

    /** Declares what the host answers; calls are fetched. */
    public static function declare(int $engine, string $declaration): void
    {
        self::check(self::library()->studio_host_set($engine, $declaration, strlen($declaration), null, null, null), '');
    }

    /** Begins an operation and gives its stream. */
    public static function start(int $engine, string $operation, string $request, string $body = ''): int
    {
        $out = self::library()->new('uint64_t');
        $problem = self::library()->new('studio_buf');
        $code = self::library()->studio_start($engine, $operation, $request, strlen($request), $body, strlen($body), \FFI::addr($out), \FFI::addr($problem));
        self::check($code, self::take($problem));
        return $out->cdata;
    }

    /**
     * What a stream has, in whole events.
     *
     * @return array{int, string}
     */
    public static function next(int $stream, int $milliseconds): array
    {
        $out = self::library()->new('studio_buf');
        $code = self::library()->studio_stream_next_batch($stream, $milliseconds, 0, \FFI::addr($out));
        return [$code, self::take($out)];
    }

    /**
     * The next call that waits to be fetched.
     *
     * @return array{int, string}
     */
    public static function nextCall(int $engine, int $milliseconds): array
    {
        $out = self::library()->new('studio_buf');
        $code = self::library()->studio_host_next($engine, $milliseconds, \FFI::addr($out));
        return [$code, self::take($out)];
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

    private static function take(\FFI\CData $buffer): string
    {
        $bytes = $buffer->len > 0 ? \FFI::string($buffer->data, $buffer->len) : '';
        self::library()->studio_buf_free(\FFI::addr($buffer));
        return $bytes;
    }

    private static function load(): \FFI
    {
        if (!extension_loaded('ffi')) {
            throw new UnsupportedPlatform('the extension `ffi` of PHP is not there: install it (Debian has it in php-common, docker-php-ext-install ffi)');
        }
        try {
            return \FFI::scope(self::SCOPE);
        } catch (\FFI\Exception) {
            // It was not preloaded.
        }
        try {
            return \FFI::cdef(Abi::FUNCTIONS, Loader::standard()->find());
        } catch (\FFI\Exception $refused) {
            throw new UnsupportedPlatform("ext-ffi does not let this program load the library: {$refused->getMessage()}. Set `ffi.enable=1`, or see `vendor/bin/wfstudio php-ini`");
        }
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
