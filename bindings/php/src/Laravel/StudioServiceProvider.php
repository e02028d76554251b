<?php

// Owns the studio inside Laravel: configuration, `Route::studio()`, `artisan studio:work`.

declare(strict_types=1);

namespace Studio\Laravel;

use Illuminate\Http\Request;
use Illuminate\Support\Facades\Gate;
use Illuminate\Support\Facades\Route;
use Illuminate\Support\ServiceProvider;
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
        Route::macro('studio', function (array $prefixes = ['/studio', '/api/studio']): void {
            foreach ($prefixes as $prefix) {
                Route::any("$prefix{studioPath?}", fn (Request $request) => app(Controller::class)($request))->where('studioPath', '(/.*)?')->withoutMiddleware([
                    // The studio has its own; tokens of forms are not its pages'.
                    \Illuminate\Foundation\Http\Middleware\VerifyCsrfToken::class, 'App\Http\Middleware\VerifyCsrfToken',
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
        ];
    }
}
