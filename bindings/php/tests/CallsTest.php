<?php

// Owns proof of how calls are taken from what brings them.

declare(strict_types=1);

use PHPUnit\Framework\TestCase;
use Studio\Abi;
use Studio\Calls;
use Studio\Failure;
use Studio\Host;
use Studio\Native;

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

    /** What an engine is told by a call whose function this is; one that refuses takes no result. */
    private function told(string $op, Closure $does, bool $refuses = false): array
    {
        $folder = sys_get_temp_dir() . '/wfstudio-' . bin2hex(random_bytes(6));
        mkdir($folder);
        file_put_contents("$folder/told.c", '#include <stdio.h>
            #include <stdint.h>
            int32_t studio_host_complete(uint64_t engine, uint64_t call, int32_t ok, const char *text, size_t size) {
                if (ok == 1 && ' . (int) $refuses . ') return -1;
                FILE *file = fopen("' . $folder . '/told", "a");
                fprintf(file, "[%d, %.*s]\\n", ok, (int) size, text);
                fclose(file);
                return 0;
            }');
        exec("cc -shared -fPIC -o $folder/told.so $folder/told.c", $lines, $code);
        self::assertSame(0, $code);
        $library = new ReflectionProperty(Native::class, 'library');
        $before = $library->getValue();
        $library->setValue(null, FFI::cdef('int32_t studio_host_complete(uint64_t, uint64_t, int32_t, const char *, size_t);', "$folder/told.so"));
        try {
            $host = new Host();
            $op === Abi::HOST_TOOL_CALL ? $host->tool('odd', $does, []) : $host->answer($op, $does);
            $calls = new class (1, $host) extends Calls {
                public function take(string $bytes): void
                {
                    $this->answer($bytes);
                }

                protected function pull(int $milliseconds): array
                {
                    return [Abi::TIMEOUT, ''];
                }
            };
            $calls->take(json_encode(['call_id' => 1, 'op' => $op, 'payload' => ['name' => 'odd', 'arguments' => []]]));
        } finally {
            $library->setValue(null, $before);
        }
        $told = json_decode(file($folder . '/told')[0], true);
        exec('rm -rf ' . escapeshellarg($folder));
        return $told;
    }

    /** @dataProvider unwritable */
    public function testAToolThatRanIsNotToldAsOneThatFailed(mixed $result, string $why, bool $refuses): void
    {
        [$ok, $answer] = $this->told(Abi::HOST_TOOL_CALL, fn () => $result, $refuses);
        self::assertSame([0, true], [$ok, $answer['ran'] ?? null]);
        self::assertStringStartsWith('the tool ran, but its result could not be written as JSON (', $answer['message']);
        self::assertStringContainsString($why, $answer['message']);
        self::assertArrayNotHasKey('ran', $this->told('gate', fn () => $result, $refuses)[1]);
    }

    public function unwritable(): array
    {
        return [["\xff", 'UTF-8', false], [NAN, 'Inf and NaN', false], ['x', 'the engine does not read it', true]];
    }

    public function testAToolThatThrowsIsToldAsOneThatFailed(): void
    {
        $told = $this->told(Abi::HOST_TOOL_CALL, fn () => throw new Failure('the till is empty'));
        self::assertSame([0, ['message' => 'the till is empty']], $told);
    }

    public function testARequestThatEndsInsideAToolLeavesItsCallUnanswered(): void
    {
        $ends = function (): void {
            Calls::leaveAll();
        };
        [$ok, $answer] = $this->told(Abi::HOST_TOOL_CALL, $ends);
        self::assertSame([0, true], [$ok, $answer['unanswered'] ?? null]);
        self::assertStringContainsString('the PHP request ended', $answer['message']);
        self::assertArrayNotHasKey('unanswered', $this->told('gate', $ends)[1]);
    }
}
