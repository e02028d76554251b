<?php

// Owns proof of the provider for Laravel: prefixes, forms' tokens, a configuration or a PHP that does not let the studio start, and its command.

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

final class LaravelTest extends TestCase
{
    private string $folder;

    /** @var resource */
    private $server;
    private string $base;

    protected function setUp(): void
    {
        $this->folder = sys_get_temp_dir() . '/wfstudio-' . bin2hex(random_bytes(6));
        mkdir($this->folder);
    }

    protected function tearDown(): void
    {
        if (isset($this->server)) {
            proc_terminate($this->server);
            proc_close($this->server);
        }
        exec('rm -rf ' . escapeshellarg($this->folder));
    }

    /** @param array<string, mixed> $config */
    private function environment(array $config): array
    {
        return ['FOLDER' => $this->folder, 'CONFIG' => json_encode((object) $config)] + getenv();
    }

    /** @param array<string, mixed> $config */
    private function serve(array $config = [], string $ffi = '1', array $variables = []): void
    {
        $at = stream_socket_get_name(stream_socket_server('tcp://127.0.0.1:0'), false);
        $command = [PHP_BINARY, '-d', "ffi.enable=$ffi", '-S', $at, __DIR__ . '/laravel.php'];
        $this->server = proc_open($command, [2 => ['file', "$this->folder/log", 'w']], $pipes, null, $variables + $this->environment($config));
        $this->base = "http://$at";
        for ($turn = 0; $turn < 1200 && !@stream_socket_client("tcp://$at"); $turn++) {
            usleep(50_000);
        }
    }

    /** @return array{int, string, array<string, string>} status, body, headers */
    private function ask(string $path, ?string $body = null): array
    {
        $request = ['ignore_errors' => true, 'timeout' => 30, 'header' => "Content-Type: application/json\r\nAccept: application/json"];
        $request += $body === null ? [] : ['method' => 'POST', 'content' => $body];
        $told = (string) file_get_contents($this->base . $path, false, stream_context_create(['http' => $request]));
        $headers = [];
        foreach (array_slice($http_response_header, 1) as $header) {
            [$name, $value] = explode(':', $header, 2);
            $headers[strtolower($name)] = trim($value);
        }
        return [(int) explode(' ', $http_response_header[0])[1], $told, $headers];
    }

    public function testAGroupOfRoutesMayPutAPrefixBeforeTheStudio(): void
    {
        $this->serve();
        foreach (['', '/caf%C3%A9/admin'] as $before) {
            self::assertSame(200, $this->ask("$before/studio/workflows")[0], $before);
            self::assertSame(200, $this->ask("$before/studio")[0], $before);
            [$status, , $headers] = $this->ask("$before/studio/api/agents", '{"name":"Clerk"}');
            self::assertSame(201, $status, $before);
            self::assertStringStartsWith("$before/studio/api/agents/", $headers['location']);
        }
        self::assertSame(404, $this->ask('/x/studio/workflows')[0]);
    }

    public function testRoutesFollowThePrefixesOfTheConfiguration(): void
    {
        $this->serve(['route_prefix' => 'back/office', 'stream_adapters' => ['route_prefix' => 'streams']]);
        self::assertSame(200, $this->ask('/back/office/workflows')[0]);
        self::assertArrayHasKey('x-studio-version', $this->ask('/streams/none')[2]);
        self::assertArrayNotHasKey('x-studio-version', $this->ask('/studio/workflows')[2]);
    }

    public function testRoutesFollowThePrefixesOfVariablesAndTheRoot(): void
    {
        $this->serve(['route_prefix' => '/'], variables: ['STUDIO_STREAM_ADAPTERS_PREFIX' => 'streams']);
        self::assertSame(200, $this->ask('/workflows')[0]);
        self::assertArrayHasKey('x-studio-version', $this->ask('/streams/none')[2]);
    }

    public function testARefusedConfigurationIsToldToTheApplicationAlone(): void
    {
        $this->serve(['async_run_enabled' => true]);
        [$status, $told] = $this->ask('/studio/workflows');
        self::assertSame(500, $status);
        self::assertStringNotContainsString('async_run_enabled', $told);
        self::assertStringContainsString('`async_run_enabled` is not a known key', (string) file_get_contents("$this->folder/laravel.log"));
    }

    public function testAServerThatMayNotUseFfiSaysWhatToSet(): void
    {
        $this->serve(ffi: 'preload');
        self::assertSame(500, $this->ask('/studio/workflows')[0]);
        $told = (string) file_get_contents("$this->folder/laravel.log");
        self::assertStringContainsString('`ffi.enable=1`', $told);
        self::assertStringContainsString('cli-server', $told);
        self::assertStringNotContainsString('musl', $told);
    }

    /** @return array{int, string} the code, and what was printed until it worked for a moment, or ended by itself */
    private function work(array $config): array
    {
        $process = proc_open([PHP_BINARY, __DIR__ . '/laravel.php', 'studio:work'], [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes, null, $this->environment($config));
        $told = '';
        while (!str_contains($told, 'queued runs') && ($line = fgets($pipes[1])) !== false) {
            $told .= $line;
        }
        proc_terminate($process);
        $told .= stream_get_contents($pipes[1]);
        return [proc_close($process), $told];
    }

    public function testTheCommandSaysThatItWorksOrWhyNot(): void
    {
        [$code, $told] = $this->work([]);
        self::assertSame(0, $code);
        self::assertStringContainsString('works on queued runs', $told);
        self::assertStringContainsString('`async_runs_enabled` is off', $told);
        self::assertStringNotContainsString('is off', $this->work(['async_runs_enabled' => true])[1]);
        [$code, $told] = $this->work(['database' => ['path' => "$this->folder/none/studio.sqlite"]]);
        self::assertSame(1, $code);
        self::assertStringContainsString('folder that does not exist', preg_replace('/\s+/', ' ', $told));
    }
}
