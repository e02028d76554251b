<?php

// Owns the table of the loader: each place, each misfit, one error that lists what was tried.

declare(strict_types=1);

use PHPUnit\Framework\TestCase;
use Studio\Abi;
use Studio\Loader;
use Studio\Native;
use Studio\UnsupportedPlatform;

final class LoaderTest extends TestCase
{
    private string $folder;

    protected function setUp(): void
    {
        $this->folder = sys_get_temp_dir() . '/wfstudio-' . bin2hex(random_bytes(6));
        mkdir($this->folder);
    }

    protected function tearDown(): void
    {
        exec('rm -rf ' . escapeshellarg($this->folder));
    }

    private function library(string $name, int $abi = (1 << 16) | 1, string $version = Abi::VERSION): string
    {
        $path = "$this->folder/$name";
        @mkdir(dirname($path), 0755, true);
        file_put_contents("$path.c", "unsigned studio_abi_version(void) { return $abi; } const char *studio_version(void) { return \"$version\"; }");
        exec('cc -shared -fPIC -o ' . escapeshellarg($path) . ' ' . escapeshellarg("$path.c"), $told, $code);
        self::assertSame(0, $code);
        return $path;
    }

    private function loader(?string $named = null, string $system = 'libnosuch.so.1', string $target = 'x86_64-linux-gnu', string $maps = 'none'): Loader
    {
        return new Loader($named, "$this->folder/bundled", $system, $target, $maps);
    }

    private function refused(Loader $loader): string
    {
        try {
            $loader->find();
        } catch (UnsupportedPlatform $refused) {
            return $refused->getMessage();
        }
        self::fail('it was not refused');
    }

    public function testTheEnvironmentComesFirstAndHasNoFallback(): void
    {
        $bundled = $this->library('bundled/x86_64-linux-gnu/libwfstudio.so');
        $named = $this->library('named.so');
        self::assertSame($named, $this->loader($named)->find());
        self::assertStringContainsString('none.so', $this->refused($this->loader("$this->folder/none.so")));
        self::assertStringContainsString('not an absolute path', $this->refused($this->loader('named.so')));
        self::assertSame($bundled, $this->loader()->find());
    }

    public function testTheSystemComesLast(): void
    {
        $system = $this->library('system.so');
        self::assertSame($system, $this->loader(system: $system)->find());
    }

    public function testAWrongInterfaceIsAnError(): void
    {
        self::assertStringContainsString('functions 2.0', $this->refused($this->loader($this->library('next.so', 2 << 16))));
        self::assertStringContainsString('functions 1.0', $this->refused($this->loader($this->library('first.so', 1 << 16))));
        $later = $this->library('later.so', (1 << 16) | 9);
        self::assertSame($later, $this->loader($later)->find());
    }

    public function testAWrongVersionIsAnErrorInsideThePackageAndAWarningElsewhere(): void
    {
        $this->library('bundled/x86_64-linux-gnu/libwfstudio.so', version: '0.0.9');
        self::assertStringContainsString('is version 0.0.9, this package is', $this->refused($this->loader()));
        unlink("$this->folder/bundled/x86_64-linux-gnu/libwfstudio.so");
        $system = $this->library('old.so', version: '0.0.9');
        $warned = '';
        set_error_handler(function (int $level, string $message) use (&$warned): bool {
            $warned = $message;
            return true;
        }, E_USER_WARNING);
        self::assertSame($system, $this->loader(system: $system)->find());
        restore_error_handler();
        self::assertStringContainsString('version 0.0.9', $warned);
    }

    public function testMuslDoesNotGetTheLibraryForGlibc(): void
    {
        $this->library('bundled/x86_64-linux-gnu/libwfstudio.so');
        $told = $this->refused($this->loader(target: 'x86_64-linux-musl'));
        self::assertStringContainsString('bundled/x86_64-linux-musl/libwfstudio.so: there is no such file', $told);
        self::assertStringContainsString('libnosuch.so.1', $told);
        self::assertStringContainsString('vendor/bin/wfstudio fetch', $told);
        self::assertMatchesRegularExpression('/^\w+-linux-(gnu|musl)$/', Loader::target());
    }

    public function testASecondCopyIsRefusedByBothNames(): void
    {
        $first = $this->library('a/libwfstudio.so');
        $second = $this->library('b/libwfstudio.so');
        file_put_contents("$this->folder/maps", "7f00-7f01 r-xp 00000000 08:01 1    $first\n");
        self::assertSame($first, $this->loader($first, maps: "$this->folder/maps")->find());
        $told = $this->refused($this->loader($second, maps: "$this->folder/maps"));
        self::assertStringContainsString($first, $told);
        self::assertStringContainsString($second, $told);
    }

    public function testTheLibraryOfThisProcessIsNotLookedForAgainUnlessAnotherIsWanted(): void
    {
        Native::library();
        $library = realpath((string) getenv('WFSTUDIO_LIBRARY'));
        self::assertSame($library, Loader::known($library, $this->folder));
        self::assertSame($library, Loader::known(null, dirname($library, 2)));
        self::assertNull(Loader::known($this->library('other/libwfstudio.so'), dirname($library, 2)));
        self::assertNull(Loader::known("$this->folder/none.so", $this->folder));
        self::assertNull(Loader::known(null, $this->folder));
        self::assertNull(Loader::known(null, "$this->folder/none"));
    }

    public function testAPathThatLeadsElsewhereByNowBringsNoSecondLibrary(): void
    {
        foreach (['first', 'second'] as $name) {
            mkdir("$this->folder/$name", recursive: true);
            copy((string) getenv('WFSTUDIO_LIBRARY'), "$this->folder/$name/libwfstudio.so");
        }
        $text = sprintf(
            'require %s; $current = %s; $load = static function (string $release) use ($current): void {
                @unlink($current); symlink($release, $current); clearstatcache(true); Studio\Loader::library()->studio_abi_version();
            }; $load("first"); $load("second"); preg_match_all("~\\S*/libwfstudio\\S*~", file_get_contents("/proc/self/maps"), $found); echo implode(" ", array_unique($found[0]));',
            var_export(__DIR__ . '/autoload.php', true),
            var_export("$this->folder/current", true),
        );
        $told = shell_exec(sprintf('WFSTUDIO_LIBRARY=%s %s -d ffi.enable=1 -r %s 2>&1', escapeshellarg("$this->folder/current/libwfstudio.so"), PHP_BINARY, escapeshellarg($text)));
        self::assertSame(realpath("$this->folder/first/libwfstudio.so"), $told);
    }

    /** @dataProvider barred */
    public function testAPhpThatMayNotUseFfiSaysWhatToSet(array $options, string $why): void
    {
        $program = 'require ' . var_export(__DIR__ . '/autoload.php', true) . '; echo Studio\Loader::target(), "\n"; try { Studio\Loader::library(); } catch (Studio\UnsupportedPlatform $told) { echo $told->getMessage(); }';
        exec(implode(' ', array_map('escapeshellarg', [PHP_BINARY, ...$options, '-r', $program])) . ' 2>&1', $lines, $code);
        self::assertSame(0, $code, implode("\n", $lines));
        self::assertSame(Loader::target(), $lines[0]);
        self::assertStringContainsString($why, implode("\n", $lines));
        self::assertStringNotContainsString('fetch', implode("\n", $lines));
    }

    public function barred(): array
    {
        return ['not there' => [['-n'], 'extension `ffi`'], 'not allowed' => [['-d', 'ffi.enable=0'], 'Set `ffi.enable=1`']];
    }
}
