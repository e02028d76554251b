<?php

// Owns one event of a run.

declare(strict_types=1);

namespace Studio;

final class Event implements \JsonSerializable
{
    /** @var array<string, mixed> parsed when it is first read */
    public readonly array $data;

    /**
     * @param ?array<string, mixed> $data null: as `$json` says
     * @param string $json the data as they were told: arrays of PHP do not tell `{}` from `[]`
     */
    public function __construct(public readonly string $name, ?array $data, public readonly ?string $id, public readonly string $json)
    {
        if ($data !== null) {
            $this->data = $data;
        } else {
            // So that PHP calls `__get`, once: then it is a property as the others.
            unset($this->data);
        }
    }

    public function __get(string $name): mixed
    {
        if ($name === 'data') {
            $this->data = json_decode($this->json, true, 512, JSON_THROW_ON_ERROR);
        }
        return $this->$name;
    }

    public function __isset(string $name): bool
    {
        return $name === 'data';
    }

    /** @return array<string, mixed> */
    public function jsonSerialize(): array
    {
        return ['name' => $this->name, 'data' => $this->data, 'id' => $this->id, 'json' => $this->json];
    }

    /** @return array<string, mixed> */
    public function __serialize(): array
    {
        return $this->jsonSerialize();
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        return $this->jsonSerialize();
    }
}
