<?php

// Owns an answer that is still coming, with the calls that it brings.

declare(strict_types=1);

namespace Studio;

/** Pieces of an answer. Calls to the host are answered while they are read. */
final class Stream extends Calls
{
    /** Short, so that signals of the process are heard. */
    private const WAIT = 1_000;

    private bool $ended = false;
    private ?\Closure $sink = null;
    private bool $answering = false;

    public function __construct(int $engine, Host $host, private readonly int $handle)
    {
        parent::__construct($engine, $host);
        if ($handle !== 0) {
            self::$open[$handle] = true;
        }
    }

    /** An answer whose head is there; without a handle, all of it is. */
    public static function answered(int $engine, Host $host, int $handle, string $head): self
    {
        $stream = new self($engine, $host, $handle);
        $told = json_decode($head, true, 512, JSON_THROW_ON_ERROR);
        $text = $told['body'] ?? '';
        unset($told['body']);
        $stream->kept[] = [Abi::HEAD, json_encode($told, JSON_THROW_ON_ERROR)];
        if ($text !== '') {
            $stream->kept[] = [Abi::OK, $text];
        }
        if ($handle === 0) {
            $stream->kept[] = [Abi::END, ''];
        }
        return $stream;
    }

    public function __destruct()
    {
        $this->close();
    }

    /**
     * The next piece; null at the end.
     *
     * @param ?callable(): bool $waiting called before it waits; false ends it
     * @return ?array{int, string}
     */
    public function read(?callable $waiting = null): ?array
    {
        while (!$this->ended) {
            [$code, $bytes] = $this->following($waiting === null ? self::WAIT : 0);
            if ($code === Abi::TIMEOUT && $waiting !== null) {
                if (!$waiting()) {
                    break;
                }
                [$code, $bytes] = $this->following(self::WAIT);
            }
            if ($code === Abi::HOST_CALL) {
                // What was read is sent before a tool takes its time.
                $waiting === null || $waiting();
                $this->answering = true;
                $this->answer($bytes);
                $this->answering = false;
            } elseif ($code === Abi::END) {
                break;
            } elseif ($code < 0) {
                $this->close();
                throw StudioError::of($code, $bytes);
            } elseif ($code !== Abi::TIMEOUT) {
                return [$code, $bytes];
            }
        }
        $this->close();
        return null;
    }

    /**
     * The head of an HTTP answer, or the whole answer of an operation.
     */
    public function head(bool $associative = true): mixed
    {
        $piece = $this->read();
        if ($piece === null || $piece[0] !== Abi::HEAD) {
            throw new InternalError('the answer has no head', Abi::INTERNAL);
        }
        return json_decode($piece[1], $associative, 512, JSON_THROW_ON_ERROR);
    }

    /** Where pieces go that come while a tool waits; without it they follow when it has ended. */
    public function passTo(\Closure $sink): void
    {
        $this->sink = $sink;
    }

    /** True while a call is worked on, and for good when the request ended in the middle of it. */
    public function isAnswering(): bool
    {
        return $this->answering;
    }

    public function cancel(): void
    {
        if (!$this->ended) {
            Native::cancel($this->handle);
        }
    }

    public function close(): void
    {
        if (!$this->ended) {
            $this->ended = true;
            if ($this->handle !== 0) {
                unset(self::$open[$this->handle]);
                Native::leave($this->handle);
            }
        }
    }

    protected function passes(int $code, string $bytes): bool
    {
        if ($this->sink === null || $code !== Abi::OK) {
            return false;
        }
        ($this->sink)($bytes);
        return true;
    }

    protected function pull(int $milliseconds): array
    {
        return Native::next($this->handle, $milliseconds);
    }
}
