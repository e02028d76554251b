<?php

// Owns the one error of the loader.

declare(strict_types=1);

namespace Studio;

/** There is no library for this machine, or none that fits. The message lists what was tried. */
final class UnsupportedPlatform extends StudioError
{
}
