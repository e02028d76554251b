<?php

// Owns what an application of Symfony says about requests, and what it declares.

declare(strict_types=1);

namespace Studio\Symfony;

use Studio\Studio;
use Symfony\Component\HttpFoundation\Request;

/** A service of the application, named by `studio.host`. */
interface Marks
{
    /** Who asks; null says nothing. */
    public function user(Request $request): mixed;

    /** May this request enter; null asks the answer `gate`. */
    public function gate(Request $request): ?bool;

    public function tenant(Request $request): ?string;

    /** May this request read the export. */
    public function authorized(Request $request): bool;

    /** Tools, answers and classes. */
    public function declare(Studio $studio): void;
}
