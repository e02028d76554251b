<?php

// Owns the scenario's application in Slim 3, with the handler of PSR-15. Debian has Slim, but not the two interfaces of PSR-15.

declare(strict_types=1);

namespace Psr\Http\Server {
    use Psr\Http\Message\ResponseInterface;
    use Psr\Http\Message\ServerRequestInterface;

    interface RequestHandlerInterface
    {
        public function handle(ServerRequestInterface $request): ResponseInterface;
    }

    interface MiddlewareInterface
    {
        public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface;
    }
}

namespace {
    use Nyholm\Psr7\Factory\Psr17Factory;
    use Psr\Http\Message\ServerRequestInterface;
    use Studio\Studio;

    require 'Slim/autoload.php';
    require 'Nyholm/Psr7/autoload.php';
    require __DIR__ . '/own.php';

    if (!own()) {
        // The built-in server tells the path here, and Slim would take it for the folder of the application.
        $_SERVER['SCRIPT_NAME'] = '/index.php';
        $studio = declared(Studio::shared(configuration()));
        $app = new Slim\App();
        $handler = $studio->handler(new Psr17Factory(), ...marks(fn (string $name, ServerRequestInterface $request): string => $request->getHeaderLine($name)));
        $app->any('/studio[/{path:.*}]', $handler);
        $app->any('/api/studio[/{path:.*}]', $handler);
        $app->run();
    }
}
