<?php

// Owns one call of the engine to its host, as a tool may look at it.

declare(strict_types=1);

namespace Studio;

/** A call. A tool that has a parameter of this type is given it. */
final class Call
{
    private bool $cancelled = false;

    /** @param array<string, mixed> $payload */
    public function __construct(private readonly Calls $from, public readonly int $id, public readonly string $op, public readonly array $payload)
    {
    }

    /** @return array<string, mixed> */
    public function arguments(): array
    {
        return $this->payload['arguments'] ?? [];
    }

    public function tenant(): ?string
    {
        return $this->payload['tenant'] ?? null;
    }

    public function user(): mixed
    {
        return $this->payload['user'] ?? null;
    }

    /** Gives a part of the answer; the result ends it. */
    public function chunk(mixed $part): void
    {
        $this->from->complete($this->id, Calls::CHUNK, $part);
    }

    /** True once the result is no longer wanted. Looks what has come meanwhile. */
    public function cancelled(): bool
    {
        return $this->wait(0);
    }

    /** Waits until the result is no longer wanted, at most so many seconds; says whether that is so. */
    public function wait(float $seconds): bool
    {
        $ending = microtime(true) + $seconds;
        do {
            $left = max(0, (int) (($ending - microtime(true)) * 1000));
            $this->from->look(min($left, 500), $this);
        } while (!$this->cancelled && $left > 0);
        return $this->cancelled;
    }

    /** What is known of that without looking. */
    public function isCancelled(): bool
    {
        return $this->cancelled;
    }

    public function cancel(): void
    {
        $this->cancelled = true;
    }
}
