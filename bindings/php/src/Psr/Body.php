<?php

// Owns bodies that still come, as PSR-7 reads them.

declare(strict_types=1);

namespace Studio\Psr;

use Psr\Http\Message\StreamInterface;
use Studio\Http\Exchange;
use Studio\Http\Server;

/** A body that is read once, from its beginning. What was read is sent before it waits for more. */
final class Body implements StreamInterface
{
    private string $rest;
    private bool $over = false;
    private int $told = 0;

    public function __construct(private readonly Exchange $exchange, private readonly float $ending)
    {
        $this->rest = $exchange->text();
    }

    public function read($length): string
    {
        if ($this->rest === '' && !$this->over) {
            $this->more();
        }
        $piece = substr($this->rest, 0, $length);
        $this->rest = substr($this->rest, strlen($piece));
        $this->told += strlen($piece);
        return $piece;
    }

    public function eof(): bool
    {
        if ($this->rest === '' && !$this->over) {
            $this->more();
        }
        return $this->rest === '' && $this->over;
    }

    public function getContents(): string
    {
        $all = '';
        while (!$this->eof()) {
            $all .= $this->read(1 << 16);
        }
        return $all;
    }

    public function __toString(): string
    {
        return $this->getContents();
    }

    public function close(): void
    {
        $this->over = true;
        $this->exchange->close();
    }

    public function detach()
    {
        $this->close();
        return null;
    }

    public function getSize(): ?int
    {
        return null;
    }

    public function tell(): int
    {
        return $this->told;
    }

    public function isSeekable(): bool
    {
        return false;
    }

    public function seek($offset, $whence = SEEK_SET): void
    {
        throw new \RuntimeException('the body of the studio cannot be sought in');
    }

    public function rewind(): void
    {
        if ($this->told > 0) {
            throw new \RuntimeException('the body of the studio is read once');
        }
    }

    public function isWritable(): bool
    {
        return false;
    }

    public function write($string): int
    {
        throw new \RuntimeException('the body of the studio is not written');
    }

    public function isReadable(): bool
    {
        return true;
    }

    public function getMetadata($key = null)
    {
        return $key === null ? [] : null;
    }

    private function more(): void
    {
        $waiting = function (): bool {
            PHP_SAPI === 'cli' || Server::unbuffered('ob_end_flush');
            return Server::waiting($this->ending)();
        };
        $piece = $this->exchange->read($waiting);
        if ($piece === null) {
            $this->close();
        } else {
            $this->rest = $piece;
        }
    }
}
