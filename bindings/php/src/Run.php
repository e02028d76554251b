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
        // Three lines; other frames are said to browsers only.
        $lines = explode("\n", $frame, 3);
        if (!isset($lines[2])) {
            return null;
        }
        return new Event(substr($lines[1], strlen('event: ')), null, substr($lines[0], strlen('id: ')), substr($lines[2], strlen('data: ')));
    }
}
