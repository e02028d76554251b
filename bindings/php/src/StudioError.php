<?php

// Owns what all errors of the library share.

declare(strict_types=1);

namespace Studio;

/** A refusal of the library. `problem` is its problem document, the code is that of the C function. */
class StudioError extends \RuntimeException
{
    /** @param array<string, mixed> $problem */
    final public function __construct(string $message = '', int $code = 0, public readonly array $problem = [])
    {
        parent::__construct($message, $code);
    }

    /** The status of HTTP that it is told with. */
    public function status(): ?int
    {
        return $this->problem['status'] ?? null;
    }

    /** The error for a negative code and the bytes that came with it. */
    public static function of(int $code, string $bytes): self
    {
        $problem = json_decode($bytes, true);
        $class = Abi::ERRORS[$code] ?? self::class;
        $detail = is_array($problem) ? $problem['detail'] ?? $problem['title'] ?? '' : $bytes;
        return new $class($detail !== '' ? $detail : $class, $code, is_array($problem) ? $problem : []);
    }
}
