<?php

// Owns the bundle: `studio: { config: {…}, host: App\StudioHost, prefixes: […] }`.

declare(strict_types=1);

namespace Studio\Symfony;

use Symfony\Component\DependencyInjection\Extension\ExtensionInterface;
use Symfony\Component\HttpKernel\Bundle\Bundle;

final class StudioBundle extends Bundle
{
    public function getContainerExtension(): ?ExtensionInterface
    {
        return new StudioExtension();
    }
}
