<?php

// Owns the events of a run.

declare(strict_types=1);

namespace Studio;

/**
 * Events, for `foreach`. Leaving the loop closes the stream, and the run goes on.
 *
 * @implements \IteratorAggregate<int, Event>
 */
final class Run implements \IteratorAggregate
{
    public function __construct(private readonly Stream $stream)
    {
    }

    /** @return \Generator<int, Event> */
    public function getIterator(): \Generator
    {
        try {
            while (($piece = $this->stream->read()) !== null) {
                if ($piece[0] === Abi::OK) {
                    yield from self::events($piece[1]);
                }
            }
        } finally {
            $this->stream->close();
        }
    }

    /** Cancels the run; the events that follow say so. */
    public function cancel(): void
    {
        $this->stream->cancel();
    }

    public function close(): void
    {
        $this->stream->close();
    }

    /** @return \Generator<int, Event> */
    private static function events(string $frames): \Generator
    {
        foreach (explode("\n\n", $frames) as $frame) {
            $fields = [];
            foreach (explode("\n", $frame) as $line) {
                [$name, $value] = explode(': ', $line, 2) + [1 => ''];
                $fields[$name] = $value;
            }
            if (isset($fields['event'])) {
                yield new Event($fields['event'], json_decode($fields['data'], true, 512, JSON_THROW_ON_ERROR), $fields['id'] ?? null, $fields['data']);
            }
        }
    }
}
