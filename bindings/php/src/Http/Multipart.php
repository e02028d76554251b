<?php

// Owns bodies of forms that PHP has taken apart: they are put together again.

declare(strict_types=1);

namespace Studio\Http;

use Studio\InvalidError;

/** A body of the type `multipart/form-data`. */
final class Multipart
{
    private string $body = '';

    private function __construct(private readonly string $boundary)
    {
    }

    /**
     * The type and the body of what PHP has put into `$_POST` and `$_FILES`.
     *
     * @param array<string, mixed> $fields
     * @param array<string, mixed> $files
     * @return array{string, string}
     */
    public static function of(array $fields, array $files): array
    {
        $made = new self('studio' . bin2hex(random_bytes(16)));
        foreach ($fields as $name => $value) {
            $made->field((string) $name, $value);
        }
        foreach ($files as $name => $file) {
            $made->uploaded((string) $name, $file['name'], $file['type'], $file['tmp_name'], $file['error']);
        }
        return $made->done();
    }

    /**
     * The same of what a framework has taken apart: files as `[name, file name, type, bytes]`.
     *
     * @param array<string, mixed> $fields
     * @param list<array{string, string, string, string}> $files
     * @return array{string, string}
     */
    public static function from(array $fields, array $files): array
    {
        $made = new self('studio' . bin2hex(random_bytes(16)));
        foreach ($fields as $name => $value) {
            $made->field((string) $name, $value);
        }
        foreach ($files as [$name, $file, $type, $bytes]) {
            $made->part($name, $file, $type, $bytes);
        }
        return $made->done();
    }

    private function field(string $name, mixed $value): void
    {
        if (!is_array($value)) {
            $this->part($name, null, null, (string) $value);
            return;
        }
        foreach ($value as $key => $inner) {
            $this->field("{$name}[$key]", $inner);
        }
    }

    /** A file, or a list of files under one name, as PHP turns it inside out. */
    private function uploaded(string $name, mixed $file, mixed $type, mixed $path, mixed $error): void
    {
        if (is_array($file)) {
            foreach (array_keys($file) as $key) {
                $this->uploaded("{$name}[$key]", $file[$key], $type[$key], $path[$key], $error[$key]);
            }
            return;
        }
        if ($error === UPLOAD_ERR_NO_FILE) {
            $this->part($name, '', 'application/octet-stream', '');
            return;
        }
        if ($error !== UPLOAD_ERR_OK || !is_uploaded_file($path)) {
            throw new InvalidError("the file `$name` did not arrive whole (upload error $error): see upload_max_filesize and upload_tmp_dir of PHP", problem: ['status' => 413, 'title' => 'Content Too Large']);
        }
        $this->part($name, $file, $type, (string) file_get_contents($path));
    }

    private function part(string $name, ?string $file, ?string $type, string $bytes): void
    {
        $quoted = fn (string $text): string => str_replace(['"', "\r", "\n"], ['%22', '%0D', '%0A'], $text);
        $this->body .= "--$this->boundary\r\nContent-Disposition: form-data; name=\"{$quoted($name)}\"";
        $this->body .= $file === null ? '' : "; filename=\"{$quoted($file)}\"";
        $this->body .= $type === null || $type === '' ? "\r\n\r\n" : "\r\nContent-Type: " . str_replace(["\r", "\n"], '', $type) . "\r\n\r\n";
        $this->body .= "$bytes\r\n";
    }

    /** @return array{string, string} */
    private function done(): array
    {
        return ["multipart/form-data; boundary=$this->boundary", "$this->body--$this->boundary--\r\n"];
    }
}
