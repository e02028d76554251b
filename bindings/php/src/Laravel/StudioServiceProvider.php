<?php

// Owns the studio inside Laravel: configuration, `Route::studio()`, `artisan studio:work`.

declare(strict_types=1);

namespace Studio\Laravel;

use Illuminate\Http\Request;
use Illuminate\Support\Facades\Gate;
use Illuminate\Support\Facades\Route;
use Illuminate\Support\ServiceProvider;
use Studio\Http\Head;
use Studio\Studio;
use Studio\Symfony\Controller;

/**
 * `user`, `gate`, `tenant` and `authorized` of `config/studio.php` are left out, and then the signed-in user asks, and the gate `viewStudio` says who enters;
 * `StudioServiceProvider::marks(user: fn (Request $request) => …)` says otherwise.
 */
final class StudioServiceProvider extends ServiceProvider
{
    /** @var array<string, \Closure> */
    private static array $marks = [];

    /** @var list<\Closure> */
    private static array $declarations = [];

    /** What requests say; each takes the request. */
    public static function marks(\Closure ...$marks): void
    {
        self::$marks = $marks + self::$marks;
    }

    /** Tools, answers and classes: closures that take the studio. */
    public static function declare(\Closure $declaration): void
    {
        self::$declarations[] = $declaration;
    }

    /**
     * Where the configuration, or the variable that overrides it, puts pages, adapters and the export.
     *
     * @return list<string>
     */
    public static function prefixes(): array
    {
        $said = static fn (string $variable, string $key): ?string => (getenv($variable) ?: null) ?? data_get(config('studio.config', []), $key);
        $adapters = $said('STUDIO_STREAM_ADAPTERS_PREFIX', 'stream_adapters.route_prefix') ?? 'api/studio';
        $all = [$said('STUDIO_ROUTE_PREFIX', 'route_prefix') ?? 'studio', $adapters, $said('STUDIO_USAGE_EXPORT_PREFIX', 'usage.export.route_prefix') ?? $adapters];
        return array_values(array_unique(array_map(fn (string $prefix): string => '/' . trim($prefix, '/'), $all)));
    }

    public function register(): void
    {
        $this->mergeConfigFrom(__DIR__ . '/config.php', 'studio');
        $this->app->singleton(Studio::class, function ($app): Studio {
            $studio = Studio::shared($app['config']['studio.config']);
            foreach (self::$declarations as $declaration) {
                $declaration($studio);
            }
            return $studio;
        });
        $this->app->singleton(Controller::class, fn ($app): Controller => new Controller($app[Studio::class], self::$marks + self::standard()));
    }

    public function boot(): void
    {
        Route::macro('studio', function (?array $prefixes = null): void {
            foreach ($prefixes ?? StudioServiceProvider::prefixes() as $prefix) {
                Route::any("$prefix{studioPath?}", fn (Request $request) => app(Controller::class)($request))->where('studioPath', $prefix === '/' ? '.*' : '(/.*)?')->withoutMiddleware([
                    // The studio has its own; tokens of forms are not its pages'. The last is the name since Laravel 13.
                    \Illuminate\Foundation\Http\Middleware\VerifyCsrfToken::class, 'App\Http\Middleware\VerifyCsrfToken',
                    'Illuminate\Foundation\Http\Middleware\PreventRequestForgery',
                ]);
            }
        });
        if ($this->app->runningInConsole()) {
            $this->publishes([__DIR__ . '/config.php' => $this->app->configPath('studio.php')], 'studio-config');
            $this->commands([Work::class]);
        }
    }

    /** @return array<string, \Closure> */
    private static function standard(): array
    {
        return [
            'user' => function (Request $request): ?array {
                $user = $request->user();
                return $user === null ? null : ['id' => (string) $user->getAuthIdentifier()];
            },
            'gate' => fn (Request $request): ?bool => Gate::has('viewStudio') ? Gate::check('viewStudio') : null,
            'root_path' => self::root(...),
        ];
    }

    /** What groups of routes put before the studio, as the client sent it: below `Route::prefix('admin')` it is `/admin`. */
    private static function root(Request $request): ?string
    {
        $group = trim((string) $request->route()?->getPrefix(), '/');
        if ($group === '') {
            return null;
        }
        $path = Head::path($request->server->all());
        $root = Head::root($request->server->all(), $path);
        if (Head::within(app(Studio::class)->mounts(), $path, $root)) {
            return null;
        }
        $before = array_slice(explode('/', substr($path, strlen($root))), 0, substr_count($group, '/') + 2);
        return $root . implode('/', $before);
    }
}
