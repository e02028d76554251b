<?php

// The contracts of exported classes, for checks without the binding.

declare(strict_types=1);

namespace Studio;

interface StudioWorkflow
{
    public static function definition(): array;
}

interface StudioAgent
{
    public static function definition(): array;
}

interface StudioTool
{
    public static function definition(): array;
}
