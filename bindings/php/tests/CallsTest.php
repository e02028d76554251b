<?php

// Owns proof of how calls are taken from what brings them.

declare(strict_types=1);

use PHPUnit\Framework\TestCase;
use Studio\Abi;
use Studio\Calls;
use Studio\Host;

final class CallsTest extends TestCase
{
    public function testACallBeginsWhileItsStreamBringsMoreAndMore(): void
    {
        $begun = 0.0;
        $host = new Host();
        $host->answer('gate', function () use (&$begun): array {
            $begun = microtime(true);
            return ['allow' => true];
        });
        $calls = new class (0, $host) extends Calls {
            public float $ending = INF;

            public function take(string $bytes): void
            {
                $this->answer($bytes);
            }

            protected function pull(int $milliseconds): array
            {
                if (microtime(true) > $this->ending) {
                    throw new RuntimeException('it looks for a cancel for ever');
                }
                usleep(100);
                return [Abi::OK, 'an event'];
            }
        };
        $from = microtime(true);
        $calls->ending = $from + 3;
        $calls->take('{"call_id":1,"op":"gate","payload":{}}');
        self::assertGreaterThan(0.0, $begun, 'the call never began');
        self::assertLessThan(2.0, $begun - $from);
    }
}
