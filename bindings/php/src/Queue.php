<?php

// Owns the calls of a process that works on queued runs.

declare(strict_types=1);

namespace Studio;

/** Calls that no stream brings. */
final class Queue extends Calls
{
    /** Answers what comes within the time. */
    public function step(int $milliseconds): void
    {
        [$code, $bytes] = $this->following($milliseconds);
        Native::check($code, $bytes);
        if ($this->isCall($code)) {
            $this->answer($bytes);
        }
    }

    protected function isCall(int $code): bool
    {
        return $code === Abi::OK || $code === Abi::HOST_CALL;
    }

    protected function pull(int $milliseconds): array
    {
        return Native::nextCall($this->engine, $milliseconds);
    }
}
