<?php

// Owns files of PSR-7 as parts of a form.

declare(strict_types=1);

namespace Studio\Psr;

use Psr\Http\Message\UploadedFileInterface;
use Studio\InvalidError;

final class Upload
{
    /** @return array{string, string, string, string} */
    public static function part(string $name, UploadedFileInterface $file): array
    {
        if ($file->getError() === UPLOAD_ERR_NO_FILE) {
            return [$name, '', 'application/octet-stream', ''];
        }
        if ($file->getError() !== UPLOAD_ERR_OK) {
            throw new InvalidError("the file `$name` did not arrive whole (upload error {$file->getError()})", problem: ['status' => 413, 'title' => 'Content Too Large']);
        }
        return [$name, $file->getClientFilename() ?? '', $file->getClientMediaType() ?? '', (string) $file->getStream()];
    }
}
