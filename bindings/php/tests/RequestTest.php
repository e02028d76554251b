<?php

// Owns proof of what needs no library: schemas of signatures, raw paths, forms that are put together again.

declare(strict_types=1);

use PHPUnit\Framework\TestCase;
use Studio\Call;
use Studio\Http\Head;
use Studio\Http\Multipart;
use Studio\Schema;

enum Speed: string
{
    case Slow = 'slow';
    case Fast = 'fast';
}

final class RequestTest extends TestCase
{
    public function testASchemaFollowsFromASignature(): void
    {
        $tool = fn (Call $call, string $order_id, float $amount, ?int $days = null, Speed $speed = Speed::Slow, bool|int $odd = 3, $any = null, array $list = []) => null;
        $schema = json_decode(json_encode(Schema::of($tool)), true);
        self::assertSame(['order_id', 'amount'], $schema['required']);
        self::assertSame([
            'order_id' => ['type' => 'string'], 'amount' => ['type' => 'number'], 'days' => ['type' => ['integer', 'null']], 'speed' => ['enum' => ['slow', 'fast']],
            'odd' => ['anyOf' => [['type' => 'integer'], ['type' => 'boolean']], 'default' => 3], 'any' => [], 'list' => [],
        ], $schema['properties']);
        self::assertFalse($schema['additionalProperties']);
        self::assertTrue(Schema::of(fn (mixed ...$rest) => null)['additionalProperties']);
    }

    /** @dataProvider paths */
    public function testThePathIsTheOneThatWasSent(string $uri, string $path): void
    {
        self::assertSame($path, Head::path(['REQUEST_URI' => $uri]));
    }

    public function paths(): array
    {
        return [
            ['/studio/a%2Fb%20c?x=1', '/studio/a%2Fb%20c'],
            ['/studio/ü', '/studio/%C3%BC'],
            ['http://host:80/studio/x?y', '/studio/x'],
            ['/studio/100%', '/studio/100%25'],
            ['/studio/a b"<', '/studio/a%20b%22%3C'],
            ['', '/'],
        ];
    }

    public function testTheRootIsTheFolderOfTheScript(): void
    {
        $root = fn (string $script, string $path): string => Head::root(['SCRIPT_NAME' => $script], $path);
        self::assertSame('', $root('/index.php', '/studio/x'));
        self::assertSame('/shop', $root('/shop/index.php', '/shop/studio/x'));
        self::assertSame('/shop/index.php', $root('/shop/index.php', '/shop/index.php/studio/x'));
        self::assertSame('', $root('/studio/x', '/studio/x'));
        self::assertTrue(Head::within(['/studio'], '/shop/studio/x', '/shop'));
        self::assertFalse(Head::within(['/studio'], '/studios'));
    }

    public function testHeadersAndMarksGoAlong(): void
    {
        $server = ['REQUEST_METHOD' => 'POST', 'REQUEST_URI' => '/studio', 'QUERY_STRING' => 'a=ü', 'HTTP_X_ONE' => "gr\xFC\xDFe", 'CONTENT_TYPE' => 'text/plain', 'HTTP_CONTENT_TYPE' => 'text/plain'];
        $head = Head::of($server, ['user' => fn (string $given): array => ['id' => $given], 'gate' => true, 'tenant' => null], 'ada');
        self::assertSame([['X-ONE', 'grüße'], ['CONTENT-TYPE', 'text/plain']], $head['headers']);
        self::assertSame(['id' => 'ada'], $head['user']);
        self::assertTrue($head['gate']);
        self::assertArrayNotHasKey('tenant', $head);
        self::assertSame('a=%C3%BC', $head['query']);
    }

    public function testAFormIsPutTogetherAgain(): void
    {
        [$type, $body] = Multipart::from(['a' => ['x' => '1', 'y' => ['2']], 'b' => "q\r\n"], [['file', "na\"me\r\n.png", "image/png\r\nX: y", "\x00\xFF\r\n"]]);
        self::assertMatchesRegularExpression('~^multipart/form-data; boundary=studio[0-9a-f]{32}$~', $type);
        $boundary = substr($type, strlen('multipart/form-data; boundary='));
        $parts = explode("--$boundary", $body);
        self::assertSame("\r\nContent-Disposition: form-data; name=\"a[x]\"\r\n\r\n1\r\n", $parts[1]);
        self::assertSame("\r\nContent-Disposition: form-data; name=\"a[y][0]\"\r\n\r\n2\r\n", $parts[2]);
        self::assertSame("\r\nContent-Disposition: form-data; name=\"file\"; filename=\"na%22me%0D%0A.png\"\r\nContent-Type: image/pngX: y\r\n\r\n\x00\xFF\r\n\r\n", $parts[4]);
        self::assertSame("--\r\n", $parts[5]);
    }

    public function testABodyThatDoesNotSayItsLengthIsReadUpToTheLimit(): void
    {
        require_once '/usr/share/php/Nyholm/Psr7/autoload.php';
        interface_exists(Psr\Http\Server\RequestHandlerInterface::class) || require_once __DIR__ . '/psr15.php';
        $body = fn (int $limit, string $sent): array => (new ReflectionMethod(Studio\Psr\Handler::class, 'body'))->invoke(null, self::chunked($sent), $limit);
        self::assertSame([null, str_repeat('a', 70_000)], $body(70_000, str_repeat('a', 70_000)));
        self::assertSame([null, null], $body(69_999, str_repeat('a', 70_000)));
        $hasBody = new ReflectionMethod(Studio\Psr\Handler::class, 'hasBody');
        self::assertTrue($hasBody->invoke(null, self::chunked('{}')));
        self::assertTrue($hasBody->invoke(null, new Nyholm\Psr7\ServerRequest('POST', '/studio', [], '{}')));
        self::assertFalse($hasBody->invoke(null, new Nyholm\Psr7\ServerRequest('POST', '/studio')));
    }

    /** A request in chunks, whose body knows no size and cannot be rewound. */
    private static function chunked(string $sent): Nyholm\Psr7\ServerRequest
    {
        [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        fwrite($far, $sent);
        fclose($far);
        return new Nyholm\Psr7\ServerRequest('POST', '/studio', ['Transfer-Encoding' => 'chunked'], Nyholm\Psr7\Stream::create($near));
    }
}
