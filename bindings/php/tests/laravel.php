<?php

// Owns a small application of Laravel for LaravelTest: a router of the built-in server. FOLDER is its place, CONFIG what its `config/studio.php` says beside the database, as JSON.

declare(strict_types=1);

use Illuminate\Foundation\Application;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;
use Studio\Laravel\StudioServiceProvider;

// Laravel 13 has this in the group `web`, and no VerifyCsrfToken.
eval('namespace Illuminate\Foundation\Http\Middleware; class PreventRequestForgery { public function handle($request, $next) { return $request->isMethod("GET") ? $next($request) : abort(419); } }');

require __DIR__ . '/autoload.php';
require 'Illuminate/autoload.php';

/** Routes and marks, as applications have them. */
final class ShopProvider extends Illuminate\Support\ServiceProvider
{
    public function boot(): void
    {
        StudioServiceProvider::marks(user: fn (Request $request): array => ['id' => 'ada'], gate: fn (Request $request): bool => true);
        Route::middleware('Illuminate\Foundation\Http\Middleware\PreventRequestForgery')->group(function (): void {
            Route::studio();
            Route::prefix('{shop}/admin')->group(fn () => Route::studio());
        });
    }
}

$folder = getenv('FOLDER');
foreach (['bootstrap/cache', 'storage/framework/views', 'storage/framework/cache', 'storage/logs', 'config', 'database'] as $needed) {
    @mkdir("$folder/$needed", 0755, true);
}
$settings = ['app' => ['name' => 'shop', 'env' => 'production', 'debug' => false, 'key' => 'base64:' . base64_encode(str_repeat('k', 32)), 'cipher' => 'AES-256-CBC', 'timezone' => 'UTC', 'locale' => 'en', 'providers' => [
    Illuminate\Filesystem\FilesystemServiceProvider::class, Illuminate\View\ViewServiceProvider::class, Illuminate\Auth\AuthServiceProvider::class,
    Illuminate\Foundation\Providers\FoundationServiceProvider::class, Illuminate\Translation\TranslationServiceProvider::class, StudioServiceProvider::class, ShopProvider::class,
]], 'studio' => ['config' => json_decode((string) getenv('CONFIG'), true) + ['database' => ['path' => "$folder/studio.sqlite"]]], 'view' => ['paths' => [], 'compiled' => "$folder/storage/framework/views"],
    'logging' => ['default' => 'single', 'channels' => ['single' => ['driver' => 'single', 'path' => "$folder/laravel.log"]]]];
foreach ($settings as $name => $values) {
    file_put_contents("$folder/config/$name.php", '<?php return ' . var_export($values, true) . ';');
}
$app = new Application($folder);
$app->singleton(Illuminate\Contracts\Http\Kernel::class, Illuminate\Foundation\Http\Kernel::class);
$app->singleton(Illuminate\Contracts\Console\Kernel::class, Illuminate\Foundation\Console\Kernel::class);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);
if (PHP_SAPI === 'cli') {
    exit($app->make(Illuminate\Contracts\Console\Kernel::class)->handle(new Symfony\Component\Console\Input\ArgvInput(), new Symfony\Component\Console\Output\StreamOutput(STDOUT)));
}
$kernel = $app->make(Illuminate\Contracts\Http\Kernel::class);
$response = $kernel->handle($request = Request::capture());
$response->send();
$kernel->terminate($request, $response);
