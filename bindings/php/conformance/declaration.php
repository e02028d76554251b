<?php

// Owns the tools, answers and marks of the conformance scenario. The journal is a file: workers of php-fpm share no memory.

declare(strict_types=1);

use Studio\Call;
use Studio\Failure;
use Studio\Studio;

const LOOKUP = ['type' => 'object', 'properties' => ['order_id' => ['type' => 'string']], 'required' => ['order_id']];
const REFUND = ['type' => 'object', 'properties' => ['order_id' => ['type' => 'string'], 'amount' => ['type' => 'integer']], 'required' => ['order_id', 'amount']];

function noted(array $entry): void
{
    file_put_contents(getenv('DATABASE') . '.journal', json_encode($entry, JSON_UNESCAPED_UNICODE) . "\n", FILE_APPEND | LOCK_EX);
}

function called(Call $call, string $name): void
{
    noted(['op' => 'tool.call', 'name' => $name, 'arguments' => $call->arguments(), 'tenant' => $call->tenant(), 'user' => $call->user()]);
}

function declared(Studio $studio): Studio
{
    return $studio->tool('lookup', function (Call $call, string $order_id): array {
        called($call, 'lookup');
        return ['note' => 'Grüße, <b>&</b> 🌍', 'order_id' => $order_id, 'status' => 'shipped'];
    }, 'Looks an order up', idempotent: true, inputSchema: LOOKUP)->tool('refund', function (Call $call, string $order_id, int $amount): array {
        called($call, 'refund');
        return ['order_id' => $order_id, 'refunded' => $amount];
    }, 'Pays an order back', requireApproval: true, inputSchema: REFUND)->tool('refuse', function (Call $call): never {
        called($call, 'refuse');
        throw new Failure('the order is closed');
    }, 'Always refuses', inputSchema: LOOKUP)->tool('explode', function (Call $call): never {
        called($call, 'explode');
        throw new RuntimeException('boom');
    }, 'Always throws', inputSchema: LOOKUP)->tool('slow', function (Call $call): void {
        called($call, 'slow');
        if ($call->wait(15)) {
            noted(['op' => 'cancelled', 'name' => 'slow']);
        }
    }, 'Takes its time', timeoutMs: 20_000, inputSchema: LOOKUP)->answer('gate', function (array $asked): array {
        noted(['op' => 'gate', 'method' => $asked['method'], 'path' => $asked['path'], 'user' => $asked['user'] ?? null]);
        return ['allow' => is_array($asked['user'] ?? null) && ($asked['user']['id'] ?? null) === 'ada'];
    })->answer('secret.get', function (array $asked): array {
        noted(['op' => 'secret.get', 'name' => $asked['name'], 'tenant' => $asked['tenant'] ?? null]);
        return $asked['name'] === 'PEER_KEY' ? ['value' => 'key-of-the-peer'] : throw new Failure('no such secret');
    })->answer('provider.chat', function (array $asked, Call $call): array {
        $said = array_values(array_filter($asked['messages'], fn (array $message): bool => $message['role'] === 'user'));
        $last = end($said)['content'];
        noted(['op' => 'provider.chat', 'model' => $asked['model'], 'last' => $last]);
        if ($asked['model'] === 'mute') {
            throw new Failure('the model is away');
        }
        foreach (['You ', 'said: ', $last] as $part) {
            $call->chunk(['delta' => $part]);
        }
        return ['message' => ['role' => 'assistant', 'content' => "You said: $last"], 'usage' => ['prompt_tokens' => 7, 'completion_tokens' => 5], 'finish_reason' => 'stop'];
    });
}

/** What the request says of itself; `$header` gives a header of it. */
function marks(callable $header): array
{
    return [
        'user' => fn (mixed ...$request) => $header('X-User', ...$request) ? ['id' => $header('X-User', ...$request)] : null,
        'gate' => fn (mixed ...$request) => ['open' => true, 'shut' => false][$header('X-Gate', ...$request)] ?? null,
        'tenant' => fn (mixed ...$request) => $header('X-Tenant', ...$request) ?: null,
        'authorized' => fn (mixed ...$request) => $header('X-Authorized', ...$request) === 'yes',
    ];
}
