<?php

// Owns the scenario's application in Laravel, with the provider: an application of one file.

declare(strict_types=1);

use Illuminate\Foundation\Application;
use Illuminate\Foundation\Http\Kernel as HttpKernel;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;
use Studio\Laravel\StudioServiceProvider;

require 'Illuminate/autoload.php';
require __DIR__ . '/own.php';

/** The application. */
function laravel(): Application
{
    $folder = dirname(getenv('DATABASE')) . '/laravel';
    foreach (['bootstrap/cache', 'storage/framework/views', 'storage/framework/cache', 'storage/logs', 'config'] as $needed) {
        @mkdir("$folder/$needed", 0755, true);
    }
    $settings = ['app' => ['name' => 'scenario', 'env' => 'production', 'key' => 'base64:' . base64_encode(str_repeat('k', 32)), 'cipher' => 'AES-256-CBC', 'timezone' => 'UTC', 'locale' => 'en', 'providers' => [
        Illuminate\Filesystem\FilesystemServiceProvider::class, Illuminate\View\ViewServiceProvider::class, Illuminate\Auth\AuthServiceProvider::class,
        Illuminate\Foundation\Providers\FoundationServiceProvider::class, Illuminate\Translation\TranslationServiceProvider::class, StudioServiceProvider::class, ScenarioProvider::class,
    ]], 'studio' => ['config' => configuration()], 'view' => ['paths' => [], 'compiled' => "$folder/storage/framework/views"], 'logging' => ['default' => 'null', 'channels' => ['null' => ['driver' => 'monolog', 'handler' => Monolog\Handler\NullHandler::class]]]];
    foreach ($settings as $name => $values) {
        file_put_contents($file = tempnam("$folder/config", 'new'), '<?php return ' . var_export($values, true) . ';');
        rename($file, "$folder/config/$name.php");
    }
    $app = new Application($folder);
    $app->singleton(Illuminate\Contracts\Http\Kernel::class, HttpKernel::class);
    $app->singleton(Illuminate\Contracts\Console\Kernel::class, Illuminate\Foundation\Console\Kernel::class);
    $app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);
    return $app;
}

/** The application's own provider: marks, tools, routes. */
final class ScenarioProvider extends Illuminate\Support\ServiceProvider
{
    public function boot(): void
    {
        StudioServiceProvider::marks(...marks(fn (string $name, Request $request): ?string => $request->header($name)));
        StudioServiceProvider::declare(declared(...));
        Route::studio();
    }
}

if (PHP_SAPI !== 'cli' && !own()) {
    $kernel = laravel()->make(Illuminate\Contracts\Http\Kernel::class);
    $response = $kernel->handle($request = Request::capture());
    $response->send();
    $kernel->terminate($request, $response);
}
