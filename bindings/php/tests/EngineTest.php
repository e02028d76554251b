<?php

// Owns proof that the engine works from PHP: runs, tools, errors, cancels, forks, ends of the process, FFI that is preloaded.

declare(strict_types=1);

use PHPUnit\Framework\TestCase;
use Studio\Abi;
use Studio\Call;
use Studio\ClosedError;
use Studio\ConflictError;
use Studio\Event;
use Studio\Failure;
use Studio\InvalidError;
use Studio\Loader;
use Studio\Native;
use Studio\NotFoundError;
use Studio\Run;
use Studio\Stream;
use Studio\Studio;
use Studio\StudioWorkflow;

final class ShopWorkflow implements StudioWorkflow
{
    public static function definition(): array
    {
        return ['slug' => 'shop-refund', 'name' => 'Refund of the shop', 'graph' => json_decode(file_get_contents(EngineTest::EXAMPLES . '/refund.json'))->graph];
    }
}

final class EngineTest extends TestCase
{
    public const EXAMPLES = __DIR__ . '/../../../examples';
    private const SLOW = '{"slug":"slow","name":"Slow","graph":{"version":1,"nodes":[{"id":"start","type":"start","position":{"x":0,"y":0},"data":{}},'
        . '{"id":"tool","type":"tool","position":{"x":0,"y":0},"data":{"tool_ref":"host:slow"}},{"id":"stop","type":"stop","position":{"x":0,"y":0},"data":{}}],'
        . '"edges":[{"id":"a","source":"start","target":"tool","sourceHandle":"default","targetHandle":"default"},{"id":"b","source":"tool","target":"stop","sourceHandle":"default","targetHandle":"default"}]}}';

    private string $folder;
    private Studio $studio;
    private array $refunds = [];
    private string $library;

    protected function setUp(): void
    {
        $this->folder = sys_get_temp_dir() . '/wfstudio-' . bin2hex(random_bytes(6));
        mkdir($this->folder);
        $this->library = (string) getenv('WFSTUDIO_LIBRARY');
        $config = json_decode(file_get_contents(self::EXAMPLES . '/refund.config.json'), true);
        $this->studio = Studio::open(['database' => ['path' => "$this->folder/studio.sqlite"], 'async_runs_enabled' => true] + $config);
        $this->studio->tool('issue_refund', function (string $order_id, int $amount): array {
            $this->refunds[] = [$order_id, $amount];
            return ['order_id' => $order_id, 'refunded' => true];
        }, requireApproval: true);
        $this->studio->call('workflow.save', json_decode(file_get_contents(self::EXAMPLES . '/refund.json')));
    }

    protected function tearDown(): void
    {
        $this->studio->close();
        exec('rm -rf ' . escapeshellarg($this->folder));
    }

    private function asked(): Event
    {
        $events = iterator_to_array($this->studio->run(workflow: 'refund', message: 'Please refund order A-100'), false);
        return end($events);
    }

    private function slow(callable $tool): Run
    {
        $this->studio->tool('slow', $tool, inputSchema: ['type' => 'object']);
        $this->studio->call('workflow.save', json_decode(self::SLOW));
        return $this->studio->run(workflow: 'slow', message: 'x');
    }

    /** Runs a program with this binding; gives its code and output. */
    private function program(string $text, array $options = []): array
    {
        file_put_contents("$this->folder/program.php", '<?php require ' . var_export(__DIR__ . '/autoload.php', true) . '; $folder = ' . var_export($this->folder, true) . "; $text");
        exec('timeout 60 ' . implode(' ', array_map('escapeshellarg', [PHP_BINARY, ...$options, "$this->folder/program.php"])) . ' 2>&1', $lines, $code);
        return [$code, implode("\n", $lines)];
    }

    /** @dataProvider requests */
    public function testAPageIsAnsweredAtOnce(bool $atOnce, string $path, array $more = [], int $status = 200): void
    {
        $this->studio->call('health');
        $stream = $this->studio->http(['method' => 'GET', 'path' => $path, 'query' => '', 'headers' => [['host', 'localhost']], ...$more]);
        self::assertSame($atOnce, array_column((new ReflectionProperty($stream, 'kept'))->getValue($stream), 0) === [Abi::HEAD, Abi::OK, Abi::END]);
        $head = $stream->head();
        self::assertSame($status, $head['status']);
        self::assertArrayNotHasKey('body', $head);
        $body = '';
        while (($piece = $stream->read()) !== null) {
            $body .= $piece[1];
        }
        self::assertMatchesRegularExpression('~^(<!doctype html>|{)~', $body);
        $stream->close();
    }

    public static function requests(): array
    {
        $gate = ['gate' => true];
        return [
            'a page' => [true, '/studio/workflows', $gate],
            'data' => [false, '/studio/api/workflows', $gate],
            'the events of a run' => [false, '/studio/workflows/runs/none/events/stream', $gate, 404],
            'a stream below another prefix' => [false, '/export/agents/none/stream/vercel/none/stream', $gate, 404],
            'a page whose gate may be asked' => [false, '/studio/workflows'],
        ];
    }

    public function testWhoeverFollowsAQueuedRunAnswersItsCalls(): void
    {
        $ran = false;
        $this->studio->tool('slow', function () use (&$ran): void {
            $ran = true;
        }, inputSchema: ['type' => 'object']);
        $this->studio->call('workflow.save', json_decode(self::SLOW));
        $ask = fn (string $method, string $path, string $body = ''): Stream => $this->studio->http(
            ['method' => $method, 'path' => "/studio/workflows/$path", 'headers' => [['host', 'localhost'], ['content-type', 'application/json']], 'gate' => true],
            $body,
        );
        $queued = $ask('POST', 'slow/run', '{"message":"x"}');
        self::assertSame(202, $queued->head()['status']);
        $run = json_decode($queued->read()[1])->trace_id;
        $queued->close();
        $tail = $ask('GET', "runs/$run/events/stream");
        $tail->head();
        $told = '';
        $until = microtime(true) + 10;
        while (($piece = $tail->read(fn (): bool => microtime(true) < $until)) !== null) {
            $told .= $piece[1];
        }
        self::assertTrue($ran);
        self::assertStringContainsString('event: trace_completed', $told);
    }

    public function testARunWaitsForApprovalAndItsToolRunsOnce(): void
    {
        $asked = $this->asked();
        self::assertSame('tool_approval_required', $asked->name);
        self::assertSame(['order_id' => 'A-100', 'amount' => 25], $asked->data['pending_tools'][0]['arguments']);
        self::assertSame([], $this->refunds);
        $names = [];
        foreach ($this->studio->resume(trace_id: $asked->data['trace_id'], pause_id: $asked->data['pause_id'], approval: 'approve') as $event) {
            $names[] = $event->name;
        }
        self::assertSame(['tool_approval_resolved', 'trace_completed'], [$names[0], end($names)]);
        self::assertSame([['A-100', 25]], $this->refunds);
        self::assertSame('completed', $this->studio->trace($asked->data['trace_id'])['trace']['status']);
        self::assertIsArray($this->studio->usage(run: $asked->data['trace_id']));
    }

    public function testEventsAreCountedToTheEnd(): void
    {
        $events = iterator_to_array($this->slow(fn () => usleep(300_000)));
        self::assertSame(['thread', 'trace_completed'], [reset($events)->name, end($events)->name]);
        self::assertSame(range(0, count($events) - 1), array_keys($events));
    }

    public function testWhatTheEngineRefusesOfAHostSaysSo(): void
    {
        $this->expectException(InvalidError::class);
        $this->expectExceptionMessage('declaration');
        $this->studio->answer('gates', fn () => null)->call('health');
    }

    public function testErrorsCarryCodeStatusAndProblem(): void
    {
        try {
            $this->studio->trace('00000000-0000-7000-8000-000000000000');
            self::fail();
        } catch (NotFoundError $error) {
            self::assertSame([-2, 404, 'not_found'], [$error->getCode(), $error->status(), $error->problem['code']]);
        }
        $this->expectException(InvalidError::class);
        iterator_to_array($this->studio->run(workflow: 'refund', message: ''), false);
    }

    /** @dataProvider failures */
    public function testAToolThatThrowsIsAFailedCall(callable $tool, string $told): void
    {
        $this->studio->tool('issue_refund', $tool, inputSchema: ['type' => 'object']);
        foreach ($this->studio->run(workflow: 'refund', message: 'Please refund order A-100') as $event) {
            if ($event->name === 'tool_result') {
                self::assertTrue($event->data['is_error']);
                self::assertStringContainsString($told, $event->data['result']);
                return;
            }
        }
        self::fail('there was no result');
    }

    public function failures(): array
    {
        return [
            [fn () => throw new LogicException('the till is empty'), 'LogicException: the till is empty'],
            [fn () => throw new Failure('no'), 'no'],
            [fn () => NAN, 'Inf and NaN'],
            [fn () => "\xff", 'UTF-8'],
            [fn (string $missing) => 1, 'ArgumentCountError'],
        ];
    }

    public function testLeavingTheLoopClosesTheStreamAndTheRunGoesOn(): void
    {
        foreach ($this->studio->run(workflow: 'refund', message: 'x') as $event) {
            break;
        }
        $trace = $event->data['trace_id'] ?? $this->studio->call('trace.list')['data'][0]['trace_id'];
        for ($turn = 0; $turn < 600 && $this->studio->trace($trace)['trace']['status'] !== 'awaiting_tool_approval'; $turn++) {
            usleep(50_000);
        }
        self::assertLessThan(600, $turn);
    }

    public function testACancelledRunTellsItsToolAndItsReader(): void
    {
        $heard = null;
        $run = null;
        $run = $this->slow(function (Call $call) use (&$heard, &$run): void {
            $run->cancel();
            $begun = microtime(true);
            $heard = $call->wait(15) && microtime(true) - $begun < 10;
        });
        $names = array_map(fn (Event $event): string => $event->name, iterator_to_array($run, false));
        self::assertTrue($heard);
        self::assertSame('trace_cancelled', end($names));
    }

    /**
     * @dataProvider looks
     */
    public function testACallThatIsCancelledBeforeItBeginsIsNotRun(bool $looks): void
    {
        $run = null;
        $ran = [];
        $work = function (string $name) use (&$ran, &$run, $looks): Closure {
            return function (Call $call) use (&$ran, &$run, $looks, $name): void {
                $ran[] = $name;
                usleep(2_000_000);
                $run->cancel();
                if ($looks) {
                    $call->wait(5);
                }
                // The other call's cancel has come, too, before this one ends.
                usleep(2_000_000);
            };
        };
        foreach (['one', 'two'] as $name) {
            $this->studio->tool($name, $work($name), inputSchema: ['type' => 'object']);
        }
        $at = fn (string $id, string $type, array $data): array => ['id' => $id, 'type' => $type, 'position' => ['x' => 0, 'y' => 0], 'data' => (object) $data];
        $edge = fn (string $id, string $from, string $to, string $by = 'default'): array => ['id' => $id, 'source' => $from, 'target' => $to, 'sourceHandle' => $by, 'targetHandle' => 'default'];
        $nodes = [$at('start', 'start', []), $at('fork', 'fork', ['branches' => ['a', 'b']]), $at('one', 'tool', ['tool_ref' => 'host:one', 'output_key' => 'x']),
            $at('two', 'tool', ['tool_ref' => 'host:two', 'output_key' => 'y']), $at('join', 'join', []), $at('stop', 'stop', [])];
        $edges = [$edge('a', 'start', 'fork'), $edge('b', 'fork', 'one', 'a'), $edge('c', 'fork', 'two', 'b'), $edge('d', 'fork', 'join'), $edge('e', 'join', 'stop')];
        $this->studio->call('workflow.save', ['slug' => 'both', 'name' => 'Both', 'graph' => ['version' => 1, 'nodes' => $nodes, 'edges' => $edges]]);
        $run = $this->studio->run(workflow: 'both', message: 'x');
        $names = array_map(fn (Event $event): string => $event->name, iterator_to_array($run, false));
        self::assertSame('trace_cancelled', end($names));
        self::assertCount(1, $ran);
    }

    public function looks(): array
    {
        return ['a tool that looks' => [true], 'a tool that does not' => [false]];
    }

    public function testARegisteredClassRuns(): void
    {
        $this->studio->register(ShopWorkflow::class);
        $events = iterator_to_array($this->studio->run(workflow: 'shop-refund', message: 'x'), false);
        self::assertSame('tool_approval_required', end($events)->name);
        $this->expectException(InvalidArgumentException::class);
        $this->studio->register(self::class);
    }

    public function testAClosedStudioSaysSo(): void
    {
        $this->studio->close();
        $this->studio->close();
        $this->expectException(ClosedError::class);
        $this->studio->call('health');
    }

    public function testAnAnswerThatBreaksOffIsNotTakenForAWholeOne(): void
    {
        $make = new ReflectionMethod(\Studio\Http\Exchange::class, '__construct');
        foreach (['text/event-stream' => true, 'image/png' => false] as $kind => $whole) {
            $run = $this->slow(fn () => null);
            $stream = (new ReflectionProperty($run, 'stream'))->getValue($run);
            Native::leave((new ReflectionProperty($stream, 'handle'))->getValue($stream));
            $exchange = (new ReflectionClass(\Studio\Http\Exchange::class))->newInstanceWithoutConstructor();
            $make->invoke($exchange, 200, [['content-type', $kind]], $stream);
            $torn = false;
            try {
                self::assertNull($exchange->read());
            } catch (ClosedError) {
                $torn = true;
            }
            self::assertSame(!$whole, $torn);
        }
    }

    public function testAClientThatLeavesDoesNotEndTheToolBehindAHandler(): void
    {
        require_once '/usr/share/php/Nyholm/Psr7/autoload.php';
        interface_exists(Psr\Http\Server\RequestHandlerInterface::class) || require_once __DIR__ . '/psr15.php';
        ignore_user_abort(false);
        $factory = new Nyholm\Psr7\Factory\Psr17Factory();
        $answer = $this->studio->handler($factory)->handle($factory->createServerRequest('GET', 'http://localhost/studio/api/agents'));
        self::assertSame([200, 1], [$answer->getStatusCode(), ignore_user_abort()]);
        $answer->getBody()->close();
    }

    public function testAChildOpensItsOwnEngine(): void
    {
        $text = '$studio = Studio\Studio::open(["environment" => "local", "database" => ["path" => "$folder/fork.sqlite"]]); $studio->call("health");'
            . '$child = pcntl_fork(); $ok = $studio->call("health")["status"] === "ok"; if ($child === 0) { exit($ok ? 7 : 1); }'
            . 'pcntl_waitpid($child, $status); exit(pcntl_wexitstatus($status) === 7 && $ok ? 0 : 2);';
        self::assertSame([0, ''], $this->program($text));
    }

    /** @dataProvider endings */
    public function testTheProcessEndsWithAStreamOpen(string $ending, int $code): void
    {
        $text = '$studio = Studio\Studio::open(["environment" => "local", "database" => ["path" => "$folder/exit.sqlite"]]);'
            . '$studio->tool("slow", fn () => sleep(30)); $studio->call("workflow.save", json_decode(' . var_export(self::SLOW, true) . '));'
            . '$open = $studio->run(workflow: "slow", message: "x"); foreach ($open as $event) { if ($event->name === "step_started") break; } $second = $studio->run(workflow: "slow", message: "x");';
        [$was, $told] = $this->program($text . $ending);
        self::assertSame($code, $was, $told);
    }

    public function endings(): array
    {
        return ['the end' => ['', 0], 'exit' => ['exit(4);', 4], 'exception' => ['throw new Exception("nobody catches this");', 255], 'kill' => ['posix_kill(getmypid(), SIGTERM); sleep(20);', 143]];
    }

    /** The engine stays in a worker of a web server, and with it what a request that broke off had open. */
    public function testAFatalErrorInAToolEndsTheCallAndLeavesTheStream(): void
    {
        $text = '<?php require ' . var_export(__DIR__ . '/autoload.php', true) . '; $studio = Studio\Studio::shared(["environment" => "local", "database" => ["path" => __DIR__ . "/web.sqlite"]]);'
            . '$studio->tool("slow", function () { file_put_contents(__DIR__ . "/ran", "x", FILE_APPEND); ini_set("memory_limit", "20M"); for ($text = str_repeat("x", 1 << 20); true; $text .= $text); }, inputSchema: ["type" => "object"]);'
            . '$studio->call("workflow.save", json_decode(' . var_export(str_replace('"host:slow"', '"host:slow","retries":{"max":1}', self::SLOW), true) . '));'
            . '$run = $studio->run(workflow: "slow", message: "x"); $stream = (new ReflectionProperty($run, "stream"))->getValue($run);'
            . 'file_put_contents(__DIR__ . "/handle", (new ReflectionProperty($stream, "handle"))->getValue($stream)); foreach ($run as $event);';
        file_put_contents("$this->folder/web.php", $text);
        file_put_contents("$this->folder/old.php", '<?php require ' . var_export(__DIR__ . '/autoload.php', true) . '; echo Studio\Native::next((int) file_get_contents(__DIR__ . "/handle"), 0)[0];');
        [$server, $base] = $this->server('-t', $this->folder);
        $ask = fn (string $path): string => (string) @file_get_contents("$base$path", false, stream_context_create(['http' => ['ignore_errors' => true, 'timeout' => 20]]));
        try {
            $ask('/web.php');
            $died = microtime(true);
            self::assertStringContainsString('memory size', (string) file_get_contents("$this->folder/log"));
            self::assertContains((int) $ask('/old.php'), [Abi::CLOSED, Abi::BAD_HANDLE]);
            for ($turn = 0; $turn < 400 && in_array($status = $this->statusOf("$this->folder/web.sqlite"), ['queued', 'running'], true); $turn++) {
                usleep(50_000);
            }
            self::assertSame('failed', $status);
            self::assertSame('x', file_get_contents("$this->folder/ran"));
            self::assertLessThan(25, microtime(true) - $died, 'the call was made again, or waited for its time to be over');
        } finally {
            proc_terminate($server);
            proc_close($server);
        }
    }

    /** @dataProvider readers */
    public function testAReaderWhoLeavesTakesNoToolsFromARun(string $begin, string $said, string $ends): void
    {
        $four = json_decode(self::SLOW, true);
        $four['graph']['nodes'] = [['id' => 'start', 'type' => 'start', 'data' => (object) []], ['id' => 'stop', 'type' => 'stop', 'data' => (object) []]];
        foreach (['start', 'a', 'b', 'c', 'd'] as $number => $node) {
            $next = ['a', 'b', 'c', 'd', 'stop'][$number];
            $four['graph']['edges'][$number] = ['id' => "e$number", 'source' => $node, 'target' => $next, 'sourceHandle' => 'default', 'targetHandle' => 'default'];
            $next === 'stop' || $four['graph']['nodes'][] = ['id' => $next, 'type' => 'tool', 'data' => ['tool_ref' => 'host:slow']];
        }
        $four['graph']['nodes'] = array_map(fn (array $node): array => $node + ['position' => ['x' => 0, 'y' => 0]], $four['graph']['nodes']);
        $text = '<?php require ' . var_export(__DIR__ . '/autoload.php', true) . '; $studio = Studio\Studio::shared(["environment" => "local", "database" => ["path" => __DIR__ . "/web.sqlite"]]);'
            . '$studio->tool("slow", function () { file_put_contents(__DIR__ . "/ran", "x", FILE_APPEND); usleep(' . ($ends === 'cancelled' ? 3_000_000 : 700_000) . '); return "done"; }, inputSchema: ["type" => "object"]);'
            . '$studio->call("workflow.save", json_decode(' . var_export(json_encode($four), true) . '));' . $begin;
        file_put_contents("$this->folder/router.php", $text);
        [$server, $base] = $this->server("$this->folder/router.php");
        try {
            $client = stream_socket_client('tcp://' . substr($base, 7));
            $body = '{"message":"x"' . $said . '}';
            fwrite($client, "POST /studio/workflows/slow/run/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " . strlen($body) . "\r\n\r\n$body");
            while (($line = fgets($client)) !== false && !str_starts_with($line, 'event: step_started'));
            self::assertNotFalse($line);
            fclose($client);
            for ($turn = 0; $turn < 200 && in_array($status = $this->statusOf("$this->folder/web.sqlite"), ['queued', 'running'], true); $turn++) {
                usleep(100_000);
            }
            self::assertSame($ends, $status);
            self::assertSame($ends === 'completed', file_get_contents("$this->folder/ran") === 'xxxx');
        } finally {
            proc_terminate($server);
            proc_close($server);
        }
    }

    public function readers(): array
    {
        $serve = '$studio->serve(gate: true);';
        // As frameworks do that look whether anybody is still there.
        $handler = 'require_once "/usr/share/php/Nyholm/Psr7/autoload.php"; interface_exists(Psr\Http\Server\RequestHandlerInterface::class) || require_once ' . var_export(__DIR__ . '/psr15.php', true) . ';'
            . '$factory = new Nyholm\Psr7\Factory\Psr17Factory(); $request = $factory->createServerRequest("POST", $_SERVER["REQUEST_URI"], $_SERVER)->withBody($factory->createStreamFromFile("php://input"))'
            . '->withHeader("Host", "localhost")->withHeader("Content-Type", "application/json")->withHeader("Content-Length", $_SERVER["CONTENT_LENGTH"]);'
            . '(function () use ($studio, $factory, $request) { $body = $studio->handler($factory, gate: true)->handle($request)->getBody(); header("Content-Type: text/event-stream");'
            . 'while (!$body->eof() && connection_status() === CONNECTION_NORMAL) { echo $body->read(4096); } })();';
        return [
            'alone' => [$serve, '', 'completed'],
            'behind a handler' => [$handler, '', 'completed'],
            'who cancels' => [$serve, ',"on_disconnect":"cancel"', 'cancelled'],
        ];
    }

    public function testARequestThatEndsInsideAToolLeavesItsWorkerAtOnce(): void
    {
        $text = '<?php require ' . var_export(__DIR__ . '/autoload.php', true) . '; $studio = Studio\Studio::shared(["environment" => "local", "database" => ["path" => __DIR__ . "/web.sqlite"]]);'
            . '$studio->tool("slow", function () { exit; }, inputSchema: ["type" => "object"]); $studio->call("workflow.save", json_decode(' . var_export(self::SLOW, true) . ')); $studio->serve(gate: true);';
        file_put_contents("$this->folder/router.php", $text);
        [$server, $base] = $this->server("$this->folder/router.php");
        try {
            $began = microtime(true);
            $asked = ['method' => 'POST', 'header' => 'Content-Type: application/json', 'content' => '{"message":"x"}', 'timeout' => 60];
            self::assertStringContainsString('step_started', (string) file_get_contents("$base/studio/workflows/slow/run/stream", false, stream_context_create(['http' => $asked])));
            self::assertLessThan(10, microtime(true) - $began, 'the limit of the tool was waited for');
        } finally {
            proc_terminate($server);
            proc_close($server);
        }
    }

    /** The built-in server, once it listens, and its address. */
    private function server(string ...$what): array
    {
        $at = stream_socket_get_name(stream_socket_server('tcp://127.0.0.1:0'), false);
        $server = proc_open([PHP_BINARY, '-d', 'ffi.enable=1', '-S', $at, ...$what], [2 => ['file', "$this->folder/log", 'w']], $pipes);
        for ($turn = 0; $turn < 1200 && !@stream_socket_client("tcp://$at"); $turn++) {
            usleep(50_000);
        }
        return [$server, "http://$at"];
    }

    public function testWhatTheApplicationSaysOfCachesIsKept(): void
    {
        file_put_contents("$this->folder/router.php", '<?php require ' . var_export(__DIR__ . '/autoload.php', true) . '; header("Vary: Origin"); header("Content-Type: text/none");'
            . '$studio = Studio\Studio::shared(["environment" => "local", "database" => ["path" => __DIR__ . "/web.sqlite"]]); $studio->serve(gate: true);');
        [$server, $base] = $this->server("$this->folder/router.php");
        try {
            preg_match('~assets/[^"]+\.js~', (string) file_get_contents("$base/studio/workflows"), $asset);
            self::assertNotSame('', (string) file_get_contents("$base/studio/$asset[0]"));
            $headers = array_map('strtolower', $http_response_header);
            $said = fn (string $name): array => array_values(preg_grep("/^$name:/", $headers));
            self::assertSame(['vary: origin', 'vary: accept-encoding'], $said('vary'));
            self::assertCount(1, $said('content-type'));
        } finally {
            proc_terminate($server);
            proc_close($server);
        }
    }

    private function statusOf(string $database): string
    {
        $studio = Studio::open(['environment' => 'local', 'database' => ['path' => $database], 'worker' => ['in_process' => false]]);
        try {
            return $studio->call('trace.list')['data'][0]['status'];
        } finally {
            $studio->close();
        }
    }

    public function testApplicationsOfOneProcessHaveAnEngineEach(): void
    {
        $config = fn (string $name): array => ['environment' => 'local', 'database' => ['path' => "$this->folder/$name.sqlite"]];
        [$shop, $blog, $again] = [Studio::shared($config('shop')), Studio::shared($config('blog')), Studio::shared($config('shop'))];
        try {
            $shop->tool('slow', fn () => null)->call('workflow.save', json_decode(self::SLOW));
            iterator_to_array($shop->run(workflow: 'slow', message: 'x'), false);
            $runs = fn (Studio $studio): int => count($studio->call('trace.list')['data']);
            self::assertSame([1, 0, 1], array_map($runs, [$shop, $blog, $again]));
            $named = Studio::shared($config('shop') + ['locale' => 'en'], 'named');
            self::assertSame([1, 1], array_map($runs, [$named, Studio::shared([], 'named')]));
            $this->expectException(ConflictError::class);
            Studio::shared($config('blog'), 'named')->call('health');
        } finally {
            array_map(fn (?Studio $studio) => $studio?->close(), [$shop, $blog, $again, $named ?? null]);
        }
    }

    public function testABufferThatCannotBeRemovedIsLeft(): void
    {
        $text = 'pcntl_alarm(20); $studio = Studio\Studio::open(["environment" => "local", "database" => ["path" => "$folder/buffer.sqlite"]]);'
            . '$_SERVER = ["REQUEST_METHOD" => "GET", "REQUEST_URI" => "/studio/api/workflows", "SCRIPT_NAME" => "/index.php"] + $_SERVER;'
            . 'ob_start(null, 0, PHP_OUTPUT_HANDLER_STDFLAGS ^ PHP_OUTPUT_HANDLER_REMOVABLE); ob_start(); echo "thrown away"; $studio->serve(gate: true);';
        [$code, $told] = $this->program($text);
        self::assertSame(0, $code, substr($told, 0, 500));
        self::assertStringContainsString('"data":[]', $told);
        self::assertStringNotContainsString('thrown away', $told);
    }

    public function testAQueuedRunIsWorkedOnUntilSigterm(): void
    {
        $text = '$studio = Studio\Studio::open(["environment" => "local", "database" => ["path" => "$folder/work.sqlite"]]);'
            . '$studio->work(tell: fn () => exec("(sleep 1; kill -TERM " . getmypid() . ") >/dev/null 2>&1 &")); echo "ended";';
        self::assertSame([0, 'ended'], $this->program($text));
    }

    public function testFfiMayBePreloaded(): void
    {
        file_put_contents("$this->folder/preload.h", '#define FFI_SCOPE "' . Loader::SCOPE . "\"\n#define FFI_LIB \"" . getenv('WFSTUDIO_LIBRARY') . "\"\n" . Abi::FUNCTIONS);
        $options = ['-d', 'opcache.enable_cli=1', '-d', 'ffi.enable=preload', '-d', "ffi.preload=$this->folder/preload.h", '-d', 'opcache.preload=' . dirname(__DIR__) . '/src/preload.php', '-d', 'opcache.preload_user=root'];
        putenv('WFSTUDIO_LIBRARY=/none');
        try {
            $told = $this->program('echo Studio\Studio::open(["environment" => "local", "database" => ["path" => "$folder/p.sqlite"]])->call("health")["status"];', $options);
        } finally {
            putenv('WFSTUDIO_LIBRARY=' . $this->library);
        }
        self::assertSame([0, 'ok'], $told);
    }
}
