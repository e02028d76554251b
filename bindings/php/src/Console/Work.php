<?php

// Owns a process that only works on queued runs.

declare(strict_types=1);

namespace Studio\Console;

use Studio\Abi;
use Studio\Calls;
use Studio\Native;

/** Calls that no stream brings. */
final class Work extends Calls
{
    /** Begins, and answers them until SIGTERM or SIGINT, or so many seconds have passed. */
    public function until(float $seconds, \Closure $begin): void
    {
        $on = true;
        if (extension_loaded('pcntl')) {
            pcntl_async_signals(true);
            foreach ([SIGTERM, SIGINT] as $signal) {
                pcntl_signal($signal, function () use (&$on): void {
                    $on = false;
                });
            }
        }
        $begin();
        $ending = microtime(true) + $seconds;
        while ($on && microtime(true) < $ending) {
            [$code, $bytes] = $this->following(250);
            Native::check($code, $bytes);
            if ($this->isCall($code)) {
                $this->answer($bytes);
            }
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
