<?php

// Owns schemas that follow from signatures of closures, and arguments that are given by them.

declare(strict_types=1);

namespace Studio;

/** JSON schemas of PHP's types. */
final class Schema
{
    private const TYPES = ['string' => 'string', 'int' => 'integer', 'float' => 'number', 'bool' => 'boolean', 'null' => 'null', 'false' => 'boolean'];

    /** @return array<string, mixed> */
    public static function of(\Closure $tool): array
    {
        $properties = $required = [];
        $open = false;
        foreach ((new \ReflectionFunction($tool))->getParameters() as $parameter) {
            if (self::isCall($parameter)) {
                continue;
            }
            if ($parameter->isVariadic()) {
                $open = true;
                continue;
            }
            $properties[$parameter->getName()] = self::property($parameter);
            if (!$parameter->isOptional()) {
                $required[] = $parameter->getName();
            }
        }
        $schema = ['type' => 'object', 'properties' => (object) $properties];
        return $schema + ($required === [] ? [] : ['required' => $required]) + ['additionalProperties' => $open];
    }

    /**
     * Arguments by name; a parameter of the type Call gets the call.
     *
     * @return array<string, mixed>
     */
    public static function arguments(\Closure $tool, Call $call): array
    {
        $given = $call->arguments();
        $named = [];
        foreach ((new \ReflectionFunction($tool))->getParameters() as $parameter) {
            $name = $parameter->getName();
            if (self::isCall($parameter)) {
                $named[$name] = $call;
            } elseif ($parameter->isVariadic()) {
                return $named + $given;
            } elseif (array_key_exists($name, $given)) {
                $named[$name] = self::value($parameter->getType(), $given[$name]);
            }
        }
        return $named;
    }

    private static function isCall(\ReflectionParameter $parameter): bool
    {
        return $parameter->getType() instanceof \ReflectionNamedType && $parameter->getType()->getName() === Call::class;
    }

    /** @return array<string, mixed>|object */
    private static function property(\ReflectionParameter $parameter): array|object
    {
        $schema = self::type($parameter->getType());
        if ($parameter->isDefaultValueAvailable() && $parameter->getDefaultValue() !== null && is_scalar($parameter->getDefaultValue())) {
            $schema['default'] = $parameter->getDefaultValue();
        }
        return $schema === [] ? (object) [] : $schema;
    }

    /** @return array<string, mixed> */
    private static function type(?\ReflectionType $type): array
    {
        if ($type instanceof \ReflectionUnionType) {
            $each = array_map(self::type(...), $type->getTypes());
            return in_array([], $each, true) ? [] : ['anyOf' => $each];
        }
        if (!$type instanceof \ReflectionNamedType) {
            return [];
        }
        $name = $type->getName();
        if (is_subclass_of($name, \BackedEnum::class)) {
            $cases = array_map(fn (\BackedEnum $case): int|string => $case->value, $name::cases());
            return ['enum' => $type->allowsNull() ? [...$cases, null] : $cases];
        }
        if (!isset(self::TYPES[$name])) {
            return [];
        }
        return ['type' => $type->allowsNull() && $name !== 'null' ? [self::TYPES[$name], 'null'] : self::TYPES[$name]];
    }

    private static function value(?\ReflectionType $type, mixed $value): mixed
    {
        $enum = $type instanceof \ReflectionNamedType && is_subclass_of($type->getName(), \BackedEnum::class) ? $type->getName() : null;
        return $enum !== null && $value !== null ? $enum::from($value) : $value;
    }
}
