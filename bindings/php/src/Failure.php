<?php

// Owns the failure that a tool tells on purpose.

declare(strict_types=1);

namespace Studio;

/** Thrown by a tool or an answer: the engine is told its message and nothing else. */
final class Failure extends \RuntimeException
{
}
