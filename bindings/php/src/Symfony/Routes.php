<?php

// Owns the routes of the studio in Symfony: `resource: .`, `type: studio`.

declare(strict_types=1);

namespace Studio\Symfony;

use Symfony\Component\Config\Loader\Loader;
use Symfony\Component\Routing\Route;
use Symfony\Component\Routing\RouteCollection;

final class Routes extends Loader
{
    /** @param list<string> $prefixes */
    public function __construct(private readonly array $prefixes)
    {
        parent::__construct();
    }

    public function load($resource, ?string $type = null): RouteCollection
    {
        $routes = new RouteCollection();
        foreach ($this->prefixes as $number => $prefix) {
            $routes->add("studio_$number", new Route("$prefix{path}", ['_controller' => 'studio.controller', 'path' => ''], ['path' => '(/.*)?']));
        }
        return $routes;
    }

    public function supports($resource, ?string $type = null): bool
    {
        return $type === 'studio';
    }
}
