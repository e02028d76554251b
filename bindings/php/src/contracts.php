<?php

// Owns the contracts of definitions in code: what an export writes, and what `Studio::register` takes.

declare(strict_types=1);

namespace Studio;

/** A workflow with the agents that it uses. */
interface StudioWorkflow
{
    public static function definition(): array;
}

/** An agent. */
interface StudioAgent
{
    public static function definition(): array;
}

/** A tool. */
interface StudioTool
{
    public static function definition(): array;
}
