<?php

// Owns one event of a run.

declare(strict_types=1);

namespace Studio;

final class Event
{
    /** @param array<string, mixed> $data */
    public function __construct(public readonly string $name, public readonly array $data, public readonly ?string $id = null)
    {
    }
}
