<?php

// Owns one request and its answer, whatever framework brought it.

declare(strict_types=1);

namespace Studio\Http;

use Studio\CancelledError;
use Studio\ClosedError;
use Studio\InvalidError;
use Studio\Stream;
use Studio\Studio;
use Studio\StudioError;

/** An answer: status, headers, and a body that may still come. */
final class Exchange
{
    /** Its run needs this request until its end, for its tools, whether anybody reads or not. */
    private bool $stays = false;

    /** @param list<array{string, string}> $headers */
    private function __construct(public readonly int $status, public readonly array $headers, private readonly ?Stream $stream, private readonly string $text = '')
    {
    }

    /**
     * Asks the studio. What keeps it from starting, such as a library that is missing or a configuration that is refused, is thrown: it is for the operator of
     * the application, not for visitors.
     *
     * @param array<string, mixed> $head
     * @param callable(int): array{?string, ?string} $body with the most bytes that it may have: its type, where that is another than the request's, and the
     *                                                     body; none when it is longer
     */
    public static function ask(Studio $studio, array $head, bool $hasBody, callable $body): self
    {
        try {
            $studio->ready();
        } catch (ClosedError $closed) {
            return self::problem(503, 'Service Unavailable', $closed->getMessage());
        }
        try {
            if (!$hasBody) {
                return self::answered($studio->http($head))->staying($head, '');
            }
            // The engine says first whether the request may come in at all, and how long its body may be.
            $stream = $studio->http($head + ['expect' => '100-continue']);
            $told = $stream->head();
            if ($told['status'] !== 100) {
                return new self($told['status'], $told['headers'], $stream);
            }
            $stream->close();
            [$type, $bytes] = $body($told['body_limit']);
            if ($bytes === null) {
                return self::problem(413, 'Content Too Large', "the body is longer than {$told['body_limit']} bytes and was not read to its end; nothing was done");
            }
            return self::answered($studio->http($type === null ? $head : self::retyped($head, $type, strlen($bytes)), $bytes))->staying($head, $bytes);
        } catch (ClosedError|CancelledError $closed) {
            return self::problem(503, 'Service Unavailable', $closed->getMessage());
        } catch (InvalidError $invalid) {
            return self::problem($invalid->status() ?? 400, $invalid->problem['title'] ?? 'Bad Request', $invalid->getMessage());
        } catch (StudioError $failed) {
            return self::problem(500, 'Internal Server Error', $failed->getMessage());
        }
    }

    public static function problem(int $status, string $title, string $detail): self
    {
        $body = json_encode(['type' => 'about:blank', 'title' => $title, 'status' => $status, 'detail' => $detail], JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
        return new self($status, [['content-type', 'application/problem+json']], null, $body);
    }

    public function isEvents(): bool
    {
        foreach ($this->headers as [$name, $value]) {
            if (strtolower($name) === 'content-type') {
                return str_starts_with($value, 'text/event-stream');
            }
        }
        return false;
    }

    /**
     * The next piece of the body; null at its end.
     *
     * @param ?callable(): bool $waiting called before it waits; false ends it, unless it is a run that was started here
     */
    public function read(?callable $waiting = null): ?string
    {
        if ($this->stream === null) {
            return null;
        }
        if ($waiting !== null && $this->stays) {
            $waiting = static fn (): bool => $waiting() || true;
        }
        try {
            return $this->stream->read($waiting)[1] ?? null;
        } catch (ClosedError $closed) {
            // Events are whole, and their readers come again with the position that they have; anything else is torn.
            return $this->isEvents() ? null : throw $closed;
        }
    }

    /** Has pieces printed that come while a tool of this application waits. */
    public function printMeanwhile(): void
    {
        $this->stream?->passTo(static function (string $piece): void {
            echo $piece;
            flush();
        });
    }

    /** What is there of the body from the beginning. */
    public function text(): string
    {
        return $this->text;
    }

    public function close(): void
    {
        try {
            // Nobody answers a call in which the request ended, as by `exit`: its run is not waited for.
            while ($this->stays && !$this->stream?->isAnswering() && $this->stream?->read() !== null);
        } catch (StudioError) {
            // The studio was closed: another process goes on.
        }
        $this->stream?->close();
    }

    /** Frameworks leave a body when its reader has gone. */
    public function __destruct()
    {
        $this->close();
    }

    /**
     * A reader who only comes back follows a run of another request.
     *
     * @param array<string, mixed> $head
     */
    private function staying(array $head, string $body): self
    {
        $back = array_filter($head['headers'], fn (array $header): bool => strtolower($header[0]) === 'last-event-id') !== [] || preg_match('/(^|&)after=/', $head['query']) === 1;
        $this->stays = $head['method'] === 'POST' && $this->isEvents() && !$back && (json_decode($body, true)['on_disconnect'] ?? null) !== 'cancel';
        return $this;
    }

    private static function answered(Stream $stream): self
    {
        $head = $stream->head();
        return new self($head['status'], $head['headers'], $stream);
    }

    /**
     * @param array<string, mixed> $head
     * @return array<string, mixed>
     */
    private static function retyped(array $head, string $type, int $length): array
    {
        $others = array_filter($head['headers'], fn (array $header): bool => !in_array(strtolower($header[0]), ['content-type', 'content-length'], true));
        return ['headers' => [...$others, ['content-type', $type], ['content-length', (string) $length]]] + $head;
    }
}
