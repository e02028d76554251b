<?php

// Owns the scenario's application in Symfony, with the bundle.

declare(strict_types=1);

use Studio\Studio;
use Studio\Symfony\Marks;
use Studio\Symfony\StudioBundle;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

require 'Symfony/Bundle/FrameworkBundle/autoload.php';
require_once 'Symfony/Component/Console/autoload.php';
require __DIR__ . '/own.php';

/** What the application says about requests. */
final class StudioHost implements Marks
{
    public function user(Request $request): mixed
    {
        return $this->mark('user', $request);
    }

    public function gate(Request $request): ?bool
    {
        return $this->mark('gate', $request);
    }

    public function tenant(Request $request): ?string
    {
        return $this->mark('tenant', $request);
    }

    public function authorized(Request $request): bool
    {
        return $this->mark('authorized', $request);
    }

    public function declare(Studio $studio): void
    {
        declared($studio);
    }

    private function mark(string $name, Request $request): mixed
    {
        return marks(fn (string $header): ?string => $request->headers->get($header))[$name]();
    }
}

/** The application. */
final class App extends Kernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle(), new StudioBundle()];
    }

    public function getProjectDir(): string
    {
        return dirname(getenv('DATABASE')) . '/symfony';
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', ['secret' => 'scenario', 'http_method_override' => false, 'router' => ['utf8' => true]]);
        $container->services()->set(StudioHost::class, StudioHost::class);
        $container->extension('studio', ['config' => configuration(), 'host' => StudioHost::class]);
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->import('.', 'studio');
    }
}

if (PHP_SAPI !== 'cli' && !own()) {
    $kernel = new App('prod', false);
    $request = Request::createFromGlobals();
    $response = $kernel->handle($request);
    $response->send();
    $kernel->terminate($request, $response);
}
