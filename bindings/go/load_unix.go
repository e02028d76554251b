//go:build (linux || darwin) && (amd64 || arm64)

package wfstudio

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

func mine(found os.FileInfo) bool {
	owner, known := found.Sys().(*syscall.Stat_t)
	return known && int(owner.Uid) == os.Getuid()
}

// libc is "-gnu" or "-musl" on Linux: which loader the system mapped into this process.
func libc() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	if path, _ := mapping(func(name string) bool {
		return strings.HasPrefix(name, "ld-musl-") || strings.HasPrefix(name, "libc.musl-")
	}); path != "" {
		return "-musl"
	}
	return "-gnu"
}

// mapped is the file of the library that this process has already.
func mapped() (string, error) {
	return mapping(func(name string) bool { return strings.HasPrefix(name, "libwfstudio.") })
}

// mapping finds a mapped file by its name; only Linux can tell.
func mapping(is func(name string) bool) (string, error) {
	if runtime.GOOS != "linux" {
		return "", nil
	}
	maps, err := os.Open("/proc/self/maps")
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		_, path, has := strings.Cut(lines.Text(), "/")
		if has && is(filepath.Base(path)) {
			return "/" + path, nil
		}
	}
	return "", lines.Err()
}
