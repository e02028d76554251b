<?php

// Owns the mount for PSR-15: Slim, Mezzio and everything else that hands requests of PSR-7 on.

declare(strict_types=1);

namespace Studio\Psr;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamInterface;
use Psr\Http\Message\UploadedFileInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Studio\Http\Exchange;
use Studio\Http\Head;
use Studio\Http\Multipart;
use Studio\Http\Server;
use Studio\Studio;

/** A handler of all routes of the studio, and a middleware that leaves others alone. Marks take the request. */
final class Handler implements RequestHandlerInterface, MiddlewareInterface
{
    /** @param array<string, mixed> $marks */
    public function __construct(private readonly Studio $studio, private readonly ResponseFactoryInterface $responses, private readonly array $marks)
    {
    }

    /** As a route of Slim. */
    public function __invoke(ServerRequestInterface $request): ResponseInterface
    {
        return $this->handle($request);
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $server = self::server($request);
        $path = Head::path($server);
        return Head::within($this->studio->mounts(), $path, Head::root($server, $path)) ? $this->handle($request) : $handler->handle($request);
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        // A client that leaves ends its stream, not the tool that works.
        ignore_user_abort(true);
        // PHP would add its charset to types of texts.
        ini_set('default_charset', '');
        $head = Head::of(self::server($request), $this->marks, $request);
        $head['headers'] = self::headers($request);
        $exchange = Exchange::ask($this->studio, $head, self::hasBody($request), fn (int $limit): array => self::body($request, $limit));
        $response = $this->responses->createResponse($exchange->status);
        foreach ($exchange->headers as [$name, $value]) {
            $response = $response->withAddedHeader($name, $value);
        }
        $ending = $exchange->isEvents() && in_array($head['method'], ['GET', 'HEAD'], true) ? microtime(true) + Server::SECONDS : INF;
        return $response->withBody(new Body($exchange, $ending));
    }

    /** @return array<string, mixed> */
    private static function server(ServerRequestInterface $request): array
    {
        $uri = $request->getUri();
        $raw = $request->getServerParams()['REQUEST_URI'] ?? $uri->getPath();
        return ['REQUEST_METHOD' => $request->getMethod(), 'REQUEST_URI' => $raw, 'QUERY_STRING' => $uri->getQuery(), 'SCRIPT_NAME' => $request->getServerParams()['SCRIPT_NAME'] ?? ''];
    }

    /** @return list<array{string, string}> */
    private static function headers(ServerRequestInterface $request): array
    {
        $headers = [];
        foreach ($request->getHeaders() as $name => $values) {
            // Slim 3 has the names of the environment.
            $name = preg_match('/^(HTTP_[A-Z0-9_]+|CONTENT_TYPE|CONTENT_LENGTH)$/', (string) $name) ? strtr((string) preg_replace('/^HTTP_/', '', (string) $name), '_', '-') : $name;
            foreach ($values as $value) {
                $headers[] = [(string) $name, Head::text($value)];
            }
        }
        return $headers;
    }

    private static function hasBody(ServerRequestInterface $request): bool
    {
        // A server that decodes chunks may have removed both headers.
        return (int) $request->getHeaderLine('Content-Length') > 0 || $request->hasHeader('Transfer-Encoding') || $request->getBody()->getSize() > 0;
    }

    /** @return array{?string, ?string} */
    private static function body(ServerRequestInterface $request, int $limit): array
    {
        $body = $request->getBody();
        $length = (int) $request->getHeaderLine('Content-Length');
        if ($length > $limit || $body->getSize() > $limit) {
            return [null, null];
        }
        $raw = self::read($body, $limit);
        if ($raw === '' && str_starts_with(strtolower($request->getHeaderLine('Content-Type')), 'multipart/form-data')) {
            $fields = $request->getParsedBody();
            return Multipart::from(is_array($fields) ? $fields : [], self::files($request->getUploadedFiles()));
        }
        return [null, strlen($raw) > $limit || ($raw === '' && $length > 0) ? null : $raw];
    }

    /** At most one byte more than the limit: a chunked body does not say how long it is. */
    private static function read(StreamInterface $body, int $limit): string
    {
        if ($body->isSeekable()) {
            $body->rewind();
        }
        $raw = '';
        while (strlen($raw) <= $limit && !$body->eof()) {
            $piece = $body->read(min(65536, $limit + 1 - strlen($raw)));
            if ($piece === '') {
                break;
            }
            $raw .= $piece;
        }
        return $raw;
    }

    /**
     * @param array<mixed> $files
     * @return list<array{string, string, string, string}>
     */
    private static function files(array $files, string $within = ''): array
    {
        $all = [];
        foreach ($files as $name => $file) {
            $name = $within === '' ? (string) $name : "{$within}[$name]";
            $found = $file instanceof UploadedFileInterface ? [Upload::part($name, $file)] : self::files($file, $name);
            array_push($all, ...$found);
        }
        return $all;
    }
}
