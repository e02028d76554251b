<?php

// Owns the exceptions of negative codes. Written by bindings/generate/php.py; do not edit.

declare(strict_types=1);

namespace Studio;

/** An argument is wrong. */
final class InvalidError extends StudioError
{
}

/** There is no such thing. */
final class NotFoundError extends StudioError
{
}

/** It does not fit the state of things. */
final class ConflictError extends StudioError
{
}

/** It was cancelled. */
final class CancelledError extends StudioError
{
}

/** The handle was closed. */
final class ClosedError extends StudioError
{
}

/** This is no handle of this library, or one of the wrong kind, or one closed long ago. */
final class BadHandleError extends StudioError
{
}

/** The handle belongs to the process that forked this one; open another engine here. */
final class ForkedError extends StudioError
{
}

/** A fault of this library; the engine can be used further. */
final class PanicError extends StudioError
{
}

/** A fault of this library or of something it calls. */
final class InternalError extends StudioError
{
}

/** Not in this build, or switched off. */
final class UnsupportedError extends StudioError
{
}

/** A call that may wait was made inside a callback. */
final class ReentrantError extends StudioError
{
}

/** Refused. */
final class DeniedError extends StudioError
{
}

/** Something else has it; try again. */
final class BusyError extends StudioError
{
}
