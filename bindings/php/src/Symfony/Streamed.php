<?php

// Owns answers of the studio in Symfony: their headers go out as the studio told them.

declare(strict_types=1);

namespace Studio\Symfony;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\StreamedResponse;

/** Symfony makes a `Cache-Control` of its own, and charsets; both are the studio's to say. */
final class Streamed extends StreamedResponse
{
    /** @var list<array{string, string}> */
    private array $told = [];

    /** @param list<array{string, string}> $headers */
    public function asTold(array $headers): void
    {
        $this->told = $headers;
        foreach ($headers as [$name, $value]) {
            $this->headers->set($name, $value, false);
        }
    }

    public function prepare(Request $request): static
    {
        return $this;
    }

    public function sendHeaders(?int $statusCode = null): static
    {
        $names = array_flip(array_map(fn (array $header): string => strtolower($header[0]), $this->told));
        if (headers_sent()) {
            return $this;
        }
        ini_set('default_mimetype', '');
        ini_set('default_charset', '');
        header_remove('X-Powered-By');
        // What listeners of the application have added.
        foreach ($this->headers->all() as $name => $values) {
            if (!isset($names[$name]) && $name !== 'cache-control' && $name !== 'date') {
                foreach ($values as $value) {
                    header("$name: $value", false);
                }
            }
        }
        foreach ($this->told as [$name, $value]) {
            header("$name: $value", false);
        }
        http_response_code($this->statusCode);
        return $this;
    }
}
