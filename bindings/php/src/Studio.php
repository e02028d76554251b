<?php

// Owns the studio as applications use it: opened once in a process, told what the host answers.

declare(strict_types=1);

namespace Studio;

/** An engine with its tools. */
final class Studio
{
    private readonly Host $host;
    private ?int $engine = null;
    private int $process = 0;
    private bool $declared = false;
    private bool $closed = false;

    /** @var ?list<string> */
    private ?array $mounts = null;

    /** @param array<string, mixed> $config the keys of the configuration, dotted ones nested */
    private function __construct(private readonly array $config, private readonly bool $shared, private readonly ?string $name)
    {
        $this->host = new Host();
    }

    /**
     * The studio of this process: the engine stays while requests come and go, as in the workers of php-fpm. Between requests nobody answers for tools, so a web
     * process takes no queued runs unless the configuration says so. Applications of one process have an engine each, by their configuration; what changes with each
     * request does not belong there. A name is for one configuration: another one is a ConflictError, and an empty one gives the engine of that name as it is.
     *
     * @param array<string, mixed> $config
     */
    public static function shared(array $config, ?string $name = null): self
    {
        return new self($config, true, $name);
    }

    /**
     * A studio of its own, for programs.
     *
     * @param array<string, mixed> $config
     */
    public static function open(array $config): self
    {
        return new self($config, false, null);
    }

    /** Makes a callable a tool. Its arguments come by name; without `inputSchema` that of its signature is declared. */
    public function tool(string $name, callable $tool, ?string $description = null, bool $requireApproval = false, bool $idempotent = false, ?int $timeoutMs = null, array|object|null $inputSchema = null): self
    {
        $declaration = ['description' => $description ?? '', 'require_approval' => $requireApproval, 'idempotent' => $idempotent, 'timeout_ms' => $timeoutMs, 'input_schema' => $inputSchema];
        $this->host->tool($name, $tool, array_filter($declaration, fn (mixed $said): bool => $said !== null));
        return $this->changed();
    }

    /** Makes a callable the answer to an op such as `gate` or `secret.get`: payload (and Call) in, result out. */
    public function answer(string $op, callable $answer): self
    {
        $this->host->answer($op, $answer);
        return $this->changed();
    }

    /** A schema by name, for nodes and agents that refer to it. */
    public function schema(string $name, mixed $schema): self
    {
        $this->host->schemas[$name] = $schema;
        return $this->changed();
    }

    /** Registers classes with a contract: they are listed and run, and nobody can write them in the studio. */
    public function register(string ...$classes): self
    {
        foreach ($classes as $class) {
            if (array_intersect([StudioWorkflow::class, StudioAgent::class, StudioTool::class], class_implements($class) ?: []) === []) {
                throw new \InvalidArgumentException("$class implements none of StudioWorkflow, StudioAgent, StudioTool");
            }
            $this->host->classes[$class] = $class::definition();
        }
        return $this->changed();
    }

    /**
     * One operation, such as `trace.list`. An empty map in a request is `(object) []`; `associative: false` gives maps as objects.
     *
     * @param array<string, mixed>|object $request
     */
    public function call(string $operation, array|object $request = [], bool $associative = true): mixed
    {
        $stream = $this->start($operation, (array) $request);
        try {
            return $stream->head($associative);
        } finally {
            $stream->close();
        }
    }

    /** Runs `workflow:` or `agent:` and gives its events. */
    public function run(mixed ...$request): Run
    {
        return new Run($this->start(Abi::OP_RUN, $request));
    }

    /** Answers a pause and gives the events that follow. */
    public function resume(mixed ...$answer): Run
    {
        return new Run($this->start(Abi::OP_RESUME, $answer));
    }

    public function trace(string $traceId, mixed ...$request): mixed
    {
        return $this->call(Abi::OP_TRACE_GET, ['trace_id' => $traceId] + $request);
    }

    /** What runs used and cost; `run:` for one. */
    public function usage(mixed ...$query): mixed
    {
        return $this->call(isset($query['run']) ? Abi::OP_USAGE_RUN : Abi::OP_USAGE_QUERY, $query);
    }

    /**
     * A request: its head and its body. The answer's stream has the head first.
     *
     * @param array<string, mixed> $head
     */
    public function http(array $head, string $body = ''): Stream
    {
        if ($body !== '' || !self::isPage($head)) {
            return $this->start(Abi::OP_HTTP, $head, $body);
        }
        $engine = $this->engine();
        return Stream::answered($engine, $this->host, ...Native::http($engine, self::text($head)));
    }

    /**
     * True where nothing is asked of the application: a page or a file of the pages, whose gate was asked. A stream may bring calls, whatever its prefix.
     *
     * @param array<string, mixed> $head
     */
    private static function isPage(array $head): bool
    {
        return in_array($head['method'] ?? '', ['GET', 'HEAD'], true) && isset($head['gate']) && preg_match('~%|/api/|/stream(/|$)~', $head['path'] ?? '%') === 0;
    }

    /** @return list<string> where requests of the studio begin, such as `/studio` */
    public function mounts(): array
    {
        return $this->mounts ??= json_decode(Native::call($this->engine(), Abi::OP_ABOUT), true, 512, JSON_THROW_ON_ERROR)['mounts'];
    }

    /** Answers the request of this process, if it is one of the studio's; says whether it was. */
    public function serve(mixed $user = null, mixed $gate = null, mixed $tenant = null, mixed $authorized = null, mixed $base_url = null): bool
    {
        return (new Http\Server($this, compact('user', 'gate', 'tenant', 'authorized', 'base_url')))->serve();
    }

    /** The handler for PSR-15; its marks take the request. */
    public function handler(\Psr\Http\Message\ResponseFactoryInterface $responses, mixed ...$marks): Psr\Handler
    {
        return new Psr\Handler($this, $responses, $marks);
    }

    /** Opens the engine if it is not open, and throws what keeps it from that. */
    public function ready(): void
    {
        $this->engine();
    }

    /**
     * Works on queued runs and answers their calls until SIGTERM or SIGINT, or `$seconds` have passed. Throws at once when the database cannot be opened.
     *
     * @param ?\Closure(string): void $tell takes lines for a person
     */
    public function work(?float $seconds = null, ?\Closure $tell = null): void
    {
        (new Console\Work($this->engine(), $this->host))->until($seconds ?? INF, function () use ($tell): void {
            $this->call(Abi::OP_START);
            // Workers wait for a database that is away; at the beginning nobody would hear of it.
            $this->call(Abi::OP_HEALTH);
            if ($tell !== null) {
                $tell('The studio works on queued runs until SIGTERM.');
            }
        });
        $this->close();
    }

    /** Ends its streams and puts runs down so that they can be taken up again. */
    public function close(float $seconds = 10): void
    {
        $this->closed = true;
        if ($this->engine !== null && $this->process === getmypid()) {
            $code = Native::close($this->engine, (int) ($seconds * 1000));
            if ($code !== Abi::CLOSED && $code !== Abi::BAD_HANDLE) {
                Native::check($code, '');
            }
        }
    }

    /** @param array<string, mixed> $request */
    private function start(string $operation, array $request, string $body = ''): Stream
    {
        $text = self::text($request + ['host_calls' => 'inline']);
        $engine = $this->engine();
        return new Stream($engine, $this->host, Native::start($engine, $operation, $text, $body));
    }

    /** @param array<string, mixed> $request */
    private static function text(array $request): string
    {
        return json_encode($request, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_UNESCAPED_SLASHES);
    }

    /** The engine of this process, with everything declared; a forked child makes another. */
    private function engine(): int
    {
        if ($this->closed && $this->engine !== null && $this->process === getmypid()) {
            // It refuses by itself.
            return $this->engine;
        }
        if ($this->closed) {
            throw new ClosedError('the studio was closed', Abi::CLOSED);
        }
        if ($this->engine === null || $this->process !== getmypid()) {
            $this->engine = $this->opened();
            [$this->process, $this->declared] = [getmypid(), false];
        }
        if (!$this->declared) {
            Native::declare($this->engine, $this->host->declaration());
            $this->declared = true;
        }
        return $this->engine;
    }

    private function opened(): int
    {
        $config = $this->config;
        if ($this->shared && PHP_SAPI !== 'cli') {
            $config['worker']['in_process'] ??= false;
        }
        $text = json_encode((object) $config, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION);
        try {
            return Native::open($text, $this->shared ? $this->name ?? self::named($text, $config) : null);
        } catch (ConflictError $known) {
            return $this->config === [] && $this->name !== null ? Native::open('', $this->name) : throw $known;
        }
    }

    /** @param array<string, mixed> $config */
    private static function named(string $text, array $config): string
    {
        $database = $config['database'] ?? [];
        // A relative path is another file in another folder.
        $folder = isset($database['url']) || str_starts_with((string) ($database['path'] ?? ''), '/') ? '' : getcwd();
        return 'php:' . hash('sha256', $text . $folder);
    }

    private function changed(): self
    {
        $this->declared = false;
        return $this;
    }
}
