<?php

// Owns the host's side: tools and answers as closures, with schemas from their signatures.

declare(strict_types=1);

namespace Studio;

/** Tools, answers and classes of an application. */
final class Host
{
    /** @var array<string, \Closure> */
    private array $tools = [];

    /** @var array<string, array<string, mixed>> */
    private array $declared = [];

    /** @var array<string, \Closure> */
    private array $answers = [];

    /** @var array<string, mixed> definitions by class */
    public array $classes = [];

    /** @var array<string, mixed> by name */
    public array $schemas = [];

    /** @param array<string, mixed> $declaration */
    public function tool(string $name, callable $tool, array $declaration): void
    {
        $this->tools[$name] = \Closure::fromCallable($tool);
        $this->declared[$name] = ['name' => $name] + $declaration + ['input_schema' => Schema::of($this->tools[$name])];
    }

    public function answer(string $op, callable $answer): void
    {
        $this->answers[$op] = \Closure::fromCallable($answer);
    }

    public function declaration(): string
    {
        $ops = array_keys($this->answers);
        if ($this->tools !== []) {
            $ops = array_values(array_unique([Abi::HOST_TOOL_CALL, Abi::HOST_TOOL_CANCEL, ...$ops]));
        }
        $all = ['ops' => $ops, 'tools' => array_values($this->declared), 'schemas' => (object) $this->schemas, 'classes' => (object) $this->classes];
        return json_encode($all, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION);
    }

    /** Runs what a call asks for. */
    public function perform(Call $call): mixed
    {
        if ($call->op !== Abi::HOST_TOOL_CALL) {
            $answer = $this->answers[$call->op] ?? throw new Failure("nothing answers `$call->op`");
            return $answer($call->payload, $call);
        }
        $name = $call->payload['name'];
        $tool = $this->tools[$name] ?? throw new Failure("there is no tool `$name`");
        return $tool(...Schema::arguments($tool, $call));
    }
}
