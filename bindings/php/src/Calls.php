<?php

// Owns where calls of the engine come from: a stream that is pulled, or the queue of a process that only works.

declare(strict_types=1);

namespace Studio;

/** Takes what the library has, runs calls, and keeps for later what comes while a tool looks for its cancel. */
abstract class Calls
{
    public const FAILED = 0;
    public const DONE = 1;
    public const CHUNK = 2;

    /** How long a cancel is looked for behind a call, while the stream brings more and more. */
    public const LOOKED_MS = 200;

    /** @var list<array{int, string}> */
    protected array $kept = [];

    /** @var array<int, true> cancelled before they began */
    private array $unwanted = [];

    /** @var array<int, array{int, bool}> calls under way in this request, with their engines, and whether they are tools */
    private static array $underWay = [];

    /** @var array<int, true> handles of streams that are open in this request */
    protected static array $open = [];

    public function __construct(protected readonly int $engine, private readonly Host $host)
    {
    }

    /** @return array{int, string} */
    abstract protected function pull(int $milliseconds): array;

    /** Answers a call; false when nobody waits for it any more. */
    public function complete(int $call, int $kind, mixed $answer): bool
    {
        $text = json_encode($answer, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        $code = Native::complete($this->engine, $call, $kind, $text);
        if ($code === Abi::INVALID) {
            throw StudioError::of($code, 'the answer could not be taken');
        }
        return $code >= 0;
    }

    /** Looks whether a call was cancelled; everything else waits. Says whether anything came. */
    public function look(int $milliseconds, Call $for): bool
    {
        [$code, $bytes] = $this->pull($milliseconds);
        if ($code === Abi::TIMEOUT || $this->passes($code, $bytes)) {
            return $code !== Abi::TIMEOUT;
        }
        $call = $this->isCall($code) ? json_decode($bytes, true) : null;
        if (($call['op'] ?? null) === Abi::HOST_TOOL_CANCEL) {
            if ($call['payload']['cancels'] === $for->id) {
                $for->cancel();
            } else {
                $this->unwanted[$call['payload']['cancels']] = true;
            }
            return true;
        }
        $this->kept[] = [$code, $bytes];
        if ($code < 0 || $code === Abi::END) {
            // Nobody waits for anything of this stream.
            $for->cancel();
            return false;
        }
        return true;
    }

    /** Passes a piece on at once, where that can be. */
    protected function passes(int $code, string $bytes): bool
    {
        return false;
    }

    protected function isCall(int $code): bool
    {
        return $code === Abi::HOST_CALL;
    }

    /** @return array{int, string} */
    protected function following(int $milliseconds): array
    {
        if ($this->kept === []) {
            $this->unwanted = [];
        }
        return array_shift($this->kept) ?? $this->pull($milliseconds);
    }

    protected function answer(string $bytes): void
    {
        $told = json_decode($bytes, true, 512, JSON_BIGINT_AS_STRING);
        $call = new Call($this, (int) $told['call_id'], $told['op'], $told['payload'] ?? []);
        if ($call->op === Abi::HOST_TOOL_CANCEL) {
            return;
        }
        $isTool = $call->op === Abi::HOST_TOOL_CALL;
        $ran = false;
        try {
            $this->begin($call);
            self::$underWay[$call->id] = [$this->engine, $isTool];
            $result = $this->host->perform($call);
            $ran = $isTool;
            $this->complete($call->id, self::DONE, $result);
        } catch (\Throwable $thrown) {
            $said = $thrown instanceof Failure ? $thrown->getMessage() : $thrown::class . ': ' . $thrown->getMessage();
            if ($ran) {
                // A tool that ran must not look like one that failed: whoever reads that calls it again.
                $why = $thrown instanceof InvalidError ? 'the engine does not read it' : $said;
                $said = "the tool ran, but its result could not be written as JSON ($why): return text in UTF-8, finite numbers and arrays, at most 16 MiB";
            }
            $this->complete($call->id, self::FAILED, ['message' => mb_substr(mb_scrub($said), 0, 10_000)] + ($ran ? ['ran' => true] : []));
        }
        unset(self::$underWay[$call->id]);
    }

    /** The request ends in the middle of a tool: nobody knows what it did, and streams are left to nobody. The engine stays. */
    public static function leaveAll(): void
    {
        if (self::$underWay !== []) {
            // It may be memory that has run out.
            ini_set('memory_limit', '-1');
        }
        foreach (self::$underWay as $call => [$engine, $isTool]) {
            $text = 'the PHP request ended while it worked on this call: ' . (error_get_last()['message'] ?? 'exit');
            $failure = ['message' => substr($text, 0, 10_000)] + ($isTool ? ['unanswered' => true] : []);
            Native::complete($engine, $call, self::FAILED, (string) json_encode($failure, JSON_INVALID_UTF8_SUBSTITUTE));
        }
        foreach (array_keys(self::$open) as $stream) {
            Native::leave($stream);
        }
        self::$underWay = self::$open = [];
    }

    /** A cancel may have come already, behind the call: nothing is begun whose result nobody wants. */
    private function begin(Call $call): void
    {
        if (isset($this->unwanted[$call->id])) {
            $call->cancel();
        }
        $until = hrtime(true) + self::LOOKED_MS * 1_000_000;
        while (!$call->isCancelled() && $this->look(0, $call) && hrtime(true) < $until);
        if ($call->isCancelled()) {
            throw new Failure('the call was cancelled before it began; nothing was done');
        }
    }
}
