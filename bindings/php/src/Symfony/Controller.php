<?php

// Owns requests of Symfony.

declare(strict_types=1);

namespace Studio\Symfony;

use Studio\Http\Exchange;
use Studio\Http\Head;
use Studio\Http\Multipart;
use Studio\Http\Server;
use Studio\Studio;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;

/** Answers every route of the studio. */
final class Controller
{
    /** @param array<string, mixed> $marks values, or closures that take the request */
    public function __construct(private readonly Studio $studio, private readonly array $marks)
    {
    }

    public static function of(Studio $studio, Marks $marks): self
    {
        return new self($studio, ['user' => $marks->user(...), 'gate' => $marks->gate(...), 'tenant' => $marks->tenant(...), 'authorized' => $marks->authorized(...)]);
    }

    public function __invoke(Request $request): Response
    {
        $head = Head::of($request->server->all(), $this->marks, $request);
        if ($request->hasSession(true) && $request->getSession()->isStarted()) {
            $request->getSession()->save();
        }
        $exchange = Exchange::ask($this->studio, $head, Server::hasBody($request->server->all()), fn (int $limit): array => self::body($request, $limit));
        return self::response($exchange, $head['method']);
    }

    /** @return array{?string, ?string} */
    private static function body(Request $request, int $limit): array
    {
        $length = (int) $request->server->get('CONTENT_LENGTH', '0');
        if ($length > $limit) {
            return [null, null];
        }
        $raw = (string) $request->getContent();
        if ($raw === '' && ($_POST !== [] || $_FILES !== [])) {
            return Multipart::of($_POST, $_FILES);
        }
        return [null, strlen($raw) > $limit || ($raw === '' && $length > 0) ? null : $raw];
    }

    private static function response(Exchange $exchange, string $method): Response
    {
        $ending = $exchange->isEvents() && in_array($method, ['GET', 'HEAD'], true) ? microtime(true) + Server::SECONDS : INF;
        $response = new Streamed(static function () use ($exchange, $ending): void {
            ignore_user_abort(true);
            set_time_limit(0);
            echo $exchange->text();
            $exchange->printMeanwhile();
            $waiting = Server::waiting($ending);
            $flushed = static function () use ($waiting): bool {
                PHP_SAPI === 'cli' || Server::unbuffered('ob_end_flush');
                return $waiting();
            };
            while (($piece = $exchange->read($flushed)) !== null) {
                echo $piece;
            }
            $exchange->close();
        }, $exchange->status);
        foreach (['cache-control', 'date'] as $name) {
            $response->headers->remove($name);
        }
        $response->asTold($exchange->headers);
        return $response;
    }
}
