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
                foreach ($piece[0] === Abi::OK ? explode("\n\n", $piece[1]) : [] as $frame) {
                    $event = self::event($frame);
                    if ($event !== null) {
                        yield $event;
                    }
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

    private static function event(string $frame): ?Event
    {
        $fields = [];
        foreach (explode("\n", $frame) as $line) {
            [$name, $value] = explode(': ', $line, 2) + [1 => ''];
            $fields[$name] = $value;
        }
        return isset($fields['event']) ? new Event($fields['event'], json_decode($fields['data'], true, 512, JSON_THROW_ON_ERROR), $fields['id'] ?? null, $fields['data']) : null;
    }
}
