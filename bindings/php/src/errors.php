<?php

// Owns the exceptions of negative codes. Written by bindings/generate/php.py; do not edit.

declare(strict_types=1);

namespace Studio;

/** An argument is invalid. */
final class InvalidError extends StudioError
{
}

/** The object does not exist. */
final class NotFoundError extends StudioError
{
}

/** The object is in a state that does not allow this. */
final class ConflictError extends StudioError
{
}

/** The operation was cancelled. */
final class CancelledError extends StudioError
{
}

/** The handle is closed. */
final class ClosedError extends StudioError
{
}

/** This is not a handle of this library, it has the wrong kind, or it was closed long ago. */
final class BadHandleError extends StudioError
{
}

/** The handle belongs to the parent process. Open another engine in this process. */
final class ForkedError extends StudioError
{
}

/** A bug in this library. The engine can still be used. */
final class PanicError extends StudioError
{
}

/** An error inside this library or inside something that it calls. */
final class InternalError extends StudioError
{
}

/** Not part of this build, or disabled. */
final class UnsupportedError extends StudioError
{
}

/** A function that can block was called inside a callback. */
final class ReentrantError extends StudioError
{
}

/** Permission denied. */
final class DeniedError extends StudioError
{
}

/** The object is in use. Try again. */
final class BusyError extends StudioError
{
}
