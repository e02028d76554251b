<?php

// Owns the mount without a framework: `serve()` under php-fpm, mod_php and the built-in server.

declare(strict_types=1);

namespace Studio\Http;

use Studio\Studio;

/** The request of this process. */
final class Server
{
    /** Seconds after which a stream that is only read is ended: a stream takes a worker, and clients go on with `Last-Event-ID`. */
    public const SECONDS = 25;

    /** @param array<string, mixed> $marks */
    public function __construct(private readonly Studio $studio, private readonly array $marks)
    {
    }

    public function serve(): bool
    {
        $path = Head::path($_SERVER);
        try {
            if (!Head::within($this->studio->mounts(), $path, Head::root($_SERVER, $path))) {
                return false;
            }
        } catch (\Studio\ClosedError) {
            // Told below, as a refusal.
        }
        $head = Head::of($_SERVER, $this->marks);
        if (session_status() === PHP_SESSION_ACTIVE) {
            // Other requests of this person would wait for the stream.
            session_write_close();
        }
        $exchange = Exchange::ask($this->studio, $head, self::hasBody($_SERVER), fn (int $limit): array => self::body($_SERVER, $limit));
        self::send($exchange, $head['method']);
        return true;
    }

    /** @param array<string, mixed> $server */
    public static function hasBody(array $server): bool
    {
        return (int) ($server['CONTENT_LENGTH'] ?? 0) > 0 || ($server['HTTP_TRANSFER_ENCODING'] ?? '') !== '';
    }

    /**
     * The body of this request, put together again where PHP has taken it apart.
     *
     * @param array<string, mixed> $server
     * @return array{?string, ?string}
     */
    public static function body(array $server, int $limit): array
    {
        $length = (int) ($server['CONTENT_LENGTH'] ?? 0);
        if ($length > $limit) {
            return [null, null];
        }
        $raw = (string) file_get_contents('php://input', length: $limit + 1);
        if ($raw === '' && ($_POST !== [] || $_FILES !== [])) {
            return Multipart::of($_POST, $_FILES);
        }
        // Longer than post_max_size: PHP has thrown it away.
        return [null, strlen($raw) > $limit || ($raw === '' && $length > 0) ? null : $raw];
    }

    private static function send(Exchange $exchange, string $method): void
    {
        ignore_user_abort(true);
        self::headers($exchange);
        self::unbuffered('ob_end_clean');
        echo $exchange->text();
        $exchange->printMeanwhile();
        $ending = $exchange->isEvents() && in_array($method, ['GET', 'HEAD'], true) ? microtime(true) + self::SECONDS : INF;
        if ($exchange->isEvents()) {
            set_time_limit(0);
        }
        while (($piece = $exchange->read(self::waiting($ending))) !== null) {
            echo $piece;
        }
        flush();
        $exchange->close();
    }

    /** Ends the output buffers that can be ended; profilers and some extensions have one that cannot. */
    public static function unbuffered(callable $end): void
    {
        while ((ob_get_status()['flags'] ?? 0) & PHP_OUTPUT_HANDLER_REMOVABLE && $end());
    }

    /** Sends what there is before it waits; ends when the client has gone or the time is over. */
    public static function waiting(float $ending): \Closure
    {
        return function () use ($ending): bool {
            if (PHP_SAPI !== 'cli' && (ob_get_status()['flags'] ?? 0) & PHP_OUTPUT_HANDLER_FLUSHABLE) {
                // One that could not be ended.
                ob_flush();
            }
            flush();
            return connection_status() === CONNECTION_NORMAL && microtime(true) < $ending;
        };
    }

    private static function headers(Exchange $exchange): void
    {
        ini_set('zlib.output_compression', '0');
        ini_set('default_mimetype', '');
        ini_set('default_charset', '');
        foreach (['X-Powered-By', 'Cache-Control', 'Pragma', 'Expires'] as $name) {
            header_remove($name);
        }
        http_response_code($exchange->status);
        // What the application has set is replaced; these add up.
        $seen = ['set-cookie' => true, 'vary' => true];
        foreach ($exchange->headers as [$name, $value]) {
            header("$name: $value", !isset($seen[strtolower($name)]));
            $seen[strtolower($name)] = true;
        }
    }
}
