<?php

// Owns where the library is found: named by WFSTUDIO_LIBRARY, inside this package, or installed in the system; and whether it fits.

declare(strict_types=1);

namespace Studio;

/** Finds one library. Every source can be given, so that each rule can be tested. */
final class Loader
{
    /** The scope of `ffi.preload`. */
    public const SCOPE = 'WFSTUDIO';

    /** What tells where the library is that this process has. */
    private const KNOWN = 'const char *studio_version(void);
        typedef struct { const char *file; void *base; const char *name; void *at; } wfstudio_where;
        int dladdr(const void *, wfstudio_where *);';

    /** @var list<string> */
    private array $tried = [];

    public function __construct(
        private readonly ?string $named,
        private readonly string $folder,
        private readonly string $system,
        private readonly string $target,
        private readonly string $maps = '/proc/self/maps',
    ) {
    }

    public static function standard(): self
    {
        $system = PHP_OS_FAMILY === 'Darwin' ? 'libwfstudio.1.dylib' : 'libwfstudio.so.1';
        return new self(getenv('WFSTUDIO_LIBRARY') ?: null, self::folder(), $system, self::target());
    }

    /** The functions: preloaded, or those of the library that is found. */
    public static function library(): \FFI
    {
        if (!extension_loaded('ffi')) {
            throw new UnsupportedPlatform('the extension `ffi` of PHP is not there: install it (Debian has it in php-common, docker-php-ext-install ffi)');
        }
        try {
            return \FFI::scope(self::SCOPE);
        } catch (\FFI\Exception) {
            // It was not preloaded.
        }
        if (!self::mayLoad()) {
            throw new UnsupportedPlatform(self::barred());
        }
        // Not by its path, which may lead to another file by now.
        $known = self::known(getenv('WFSTUDIO_LIBRARY') ?: null, self::folder()) !== null;
        return $known ? \FFI::cdef(Abi::FUNCTIONS) : \FFI::cdef(Abi::FUNCTIONS, self::standard()->find());
    }

    /** The library that an earlier request of this process has looked at: it stays loaded. None if it is neither the one that is named nor in the folder. */
    public static function known(?string $named, string $folder): ?string
    {
        try {
            $process = \FFI::cdef(self::KNOWN);
        } catch (\FFI\Exception) {
            return null;
        }
        $where = $process->new('wfstudio_where');
        if ($process->studio_version() !== Abi::VERSION || $process->dladdr($process->studio_version, \FFI::addr($where)) === 0) {
            return null;
        }
        $file = (string) realpath(\FFI::string($where->file));
        $wanted = $named === null ? dirname($file, 2) === realpath($folder) : $file === realpath($named);
        return $wanted ? $file : null;
    }

    private static function folder(): string
    {
        return dirname(__DIR__) . '/native';
    }

    /** False where php.ini keeps FFI from this program. */
    private static function mayLoad(): bool
    {
        try {
            \FFI::cdef('typedef int wfstudio_probe;');
            return true;
        } catch (\FFI\Exception) {
            return false;
        }
    }

    private static function barred(): string
    {
        $folders = array_unique(array_map(dirname(...), preg_split('/,\s*/', trim((string) php_ini_scanned_files()), -1, PREG_SPLIT_NO_EMPTY)));
        $read = implode(', ', array_filter([php_ini_loaded_file(), ...$folders])) ?: 'no php.ini';
        return 'PHP does not let this program use FFI: `ffi.enable` is `' . ini_get('ffi.enable') . '`, the server is `' . PHP_SAPI . "`, its settings come from $read. "
            . 'Set `ffi.enable=1` there and restart the server (`php -d` does not reach the server of `artisan serve`), or preload: `vendor/bin/wfstudio php-ini` prints the lines';
    }

    /** The path or name to open, after it was opened and looked at. */
    public function find(): string
    {
        if ($this->named !== null) {
            return $this->required($this->named);
        }
        return $this->bundled() ?? $this->installed() ?? throw $this->refusal();
    }

    /** `x86_64-linux-gnu`; the libc is the one that this process runs on, as its own symbols say, or where FFI is kept from it, what is loaded into it. */
    public static function target(): string
    {
        $cpu = ['arm64' => 'aarch64', 'amd64' => 'x86_64', 'AMD64' => 'x86_64'][php_uname('m')] ?? php_uname('m');
        if (PHP_OS_FAMILY !== 'Linux') {
            return $cpu . '-' . strtolower(PHP_OS_FAMILY);
        }
        if (!extension_loaded('ffi') || !self::mayLoad()) {
            return "$cpu-linux-" . (str_contains((string) @file_get_contents('/proc/self/maps'), '/ld-musl-') ? 'musl' : 'gnu');
        }
        try {
            \FFI::cdef('const char *gnu_get_libc_version(void);');
            return "$cpu-linux-gnu";
        } catch (\FFI\Exception) {
            return "$cpu-linux-musl";
        }
    }

    private function required(string $path): string
    {
        if (!str_starts_with($path, '/')) {
            $this->tried[] = "WFSTUDIO_LIBRARY=$path: it is not an absolute path";
            throw $this->refusal();
        }
        $probe = $this->probe($path, 'WFSTUDIO_LIBRARY=') ?? throw $this->refusal();
        $this->fit($path, $probe);
        return $path;
    }

    private function bundled(): ?string
    {
        $path = "$this->folder/$this->target/libwfstudio." . (PHP_OS_FAMILY === 'Darwin' ? 'dylib' : 'so');
        if (!is_file($path)) {
            $this->tried[] = "$path: there is no such file";
            return null;
        }
        $probe = $this->probe($path);
        if ($probe === null) {
            return null;
        }
        $this->fit($path, $probe);
        if ($probe->studio_version() !== Abi::VERSION) {
            throw new UnsupportedPlatform("$path is version {$probe->studio_version()}, this package is " . Abi::VERSION . ': run `vendor/bin/wfstudio fetch`');
        }
        return $path;
    }

    private function installed(): ?string
    {
        $probe = $this->probe($this->system);
        if ($probe === null) {
            return null;
        }
        $this->fit($this->system, $probe);
        if ($probe->studio_version() !== Abi::VERSION) {
            trigger_error("wfstudio: the library of the system is version {$probe->studio_version()}, this package is " . Abi::VERSION, E_USER_WARNING);
        }
        return $this->system;
    }

    private function probe(string $path, string $prefix = ''): ?\FFI
    {
        $this->onlyCopy($path);
        try {
            return \FFI::cdef(Abi::PROBE, $path);
        } catch (\FFI\Exception $failed) {
            $this->tried[] = "$prefix$path: {$failed->getMessage()}";
            return null;
        }
    }

    /** A second copy would drop the locks that the first holds on its database. */
    private function onlyCopy(string $path): void
    {
        $real = realpath($path);
        if ($real === false || !is_readable($this->maps)) {
            return;
        }
        preg_match_all('~/\S*/(?:lib)?wfstudio[^/\s]*\.(?:so|dylib)\S*~', (string) file_get_contents($this->maps), $found);
        foreach (array_unique($found[0]) as $loaded) {
            if ($loaded !== $real) {
                throw new UnsupportedPlatform("$loaded is loaded into this process already, $real would be a second copy: use one of them");
            }
        }
    }

    private function fit(string $path, \FFI $probe): void
    {
        $found = $probe->studio_abi_version();
        [$major, $minor] = [$found >> 16, $found & 0xFFFF];
        if ($major !== Abi::MAJOR || $minor < Abi::MINOR) {
            throw new UnsupportedPlatform("$path has the functions $major.$minor, this package needs " . Abi::MAJOR . '.' . Abi::MINOR . ' or a later ' . Abi::MAJOR);
        }
    }

    private function refusal(): UnsupportedPlatform
    {
        if (!self::mayLoad()) {
            return new UnsupportedPlatform(self::barred());
        }
        $places = implode("\n", array_map(fn (string $place): string => "  $place", $this->tried));
        return new UnsupportedPlatform("the library of wfstudio cannot be loaded on $this->target:\n$places\n"
            . 'Run `vendor/bin/wfstudio fetch FILE` with the library of the release, or set WFSTUDIO_LIBRARY to the path of libwfstudio.');
    }
}
