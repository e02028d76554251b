<?php

// Owns one event of a run.

declare(strict_types=1);

namespace Studio;

final class Event
{
    /**
     * @param array<string, mixed> $data
     * @param string $json the data as they were told: arrays of PHP do not tell `{}` from `[]`
     */
    public function __construct(public readonly string $name, public readonly array $data, public readonly ?string $id, public readonly string $json)
    {
    }
}
