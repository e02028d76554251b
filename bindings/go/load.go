package wfstudio

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Variable names the library by an absolute path; then no other is looked for.
const Variable = "WFSTUDIO_LIBRARY"

// UnsupportedPlatform says where the library was looked for, and why it was not there.
type UnsupportedPlatform struct {
	Platform string  // such as linux-amd64-musl
	Places   []Place // in the order in which they were tried
}

// Place is one that was tried, with the loader's own words.
type Place struct{ Path, Problem string }

func (u *UnsupportedPlatform) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "studio: there is no library for %s; tried:", u.Platform)
	for _, place := range u.Places {
		fmt.Fprintf(&text, "\n  %s: %s", place.Path, place.Problem)
	}
	fmt.Fprintf(&text, "\nInstall one by `make install`, or set %s to its absolute path", Variable)
	return text.String()
}

// loader is how libraries are found; tests put other functions there.
type loader struct {
	platform string
	variable string                              // the value of Variable
	bundle   func() ([]byte, error)              // the packed library that came with the module
	cache    func() (string, error)              // the user's folder for files that can be made again
	mapped   func() (string, error)              // the file of the library that this process has already, or ""
	open     func(path string) (*library, error) // by the loader of the system
	warn     func(text string)
}

var errNoBundle = errors.New("this module was built without one")

var load = sync.OnceValues(func() (*library, error) {
	l := &loader{
		platform: runtime.GOOS + "-" + runtime.GOARCH + libc(),
		variable: os.Getenv(Variable),
		bundle:   bundled,
		cache:    os.UserCacheDir,
		mapped:   mapped,
		open:     open,
		warn:     func(text string) { slog.Warn(text) },
	}
	return l.find()
})

func (l *loader) find() (*library, error) {
	if l.variable != "" {
		if !filepath.IsAbs(l.variable) {
			return nil, l.nowhere(Place{l.variable, Variable + " is no absolute path"})
		}
		lib, err := l.try(l.variable, false)
		if err != nil {
			return nil, l.nowhere(Place{l.variable, err.Error()})
		}
		return lib, nil
	}
	var tried []Place
	path, err := l.unpacked()
	if err == nil {
		var lib *library
		if lib, err = l.try(path, true); err == nil {
			return lib, nil
		}
		var unfit unfit
		if errors.As(err, &unfit) {
			return nil, l.nowhere(Place{path, err.Error()}) // it is in this process now, and no second one may come
		}
	}
	if path == "" {
		path = "the library of the module"
	}
	tried = append(tried, Place{path, err.Error()})
	lib, err := l.try(systemName, false)
	if err == nil {
		return lib, nil
	}
	return nil, l.nowhere(append(tried, Place{systemName, err.Error()})...)
}

func (l *loader) nowhere(places ...Place) error {
	return &UnsupportedPlatform{Platform: l.platform, Places: places}
}

// try opens a library and refuses one that does not fit. A second copy in one process would drop the first one's locks on the database.
func (l *loader) try(path string, exact bool) (*library, error) {
	already, err := l.mapped()
	if err != nil {
		return nil, err
	}
	if already != "" && filepath.IsAbs(path) && !sameFile(already, path) {
		return nil, fmt.Errorf("this process has %s already; two copies would break each other's locks on the database", already)
	}
	lib, err := l.open(path)
	if err != nil {
		if strings.Contains(err.Error(), "failed to map segment") {
			err = fmt.Errorf("%w (its folder may be mounted `noexec`)", err)
		}
		return nil, err
	}
	return lib, l.fits(lib, path, exact)
}

func (l *loader) fits(lib *library, path string, exact bool) error {
	number := lib.abiVersion()
	if major, minor := number>>16, number&0xffff; major != abiMajor || minor < abiMinor {
		return unfit(fmt.Sprintf("its functions are version %d.%d, and this module needs %d.%d", major, minor, abiMajor, abiMinor))
	}
	switch has := lib.version(); {
	case has == Version:
	case exact:
		return unfit(fmt.Sprintf("it is version %s, and this module is %s", has, Version))
	default:
		l.warn(fmt.Sprintf("studio: the library %s is version %s, and this module is %s", path, has, Version))
	}
	return nil
}

// unfit is a library that could be opened and is of no use.
type unfit string

func (u unfit) Error() string { return string(u) }

func sameFile(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}

// unpacked writes the bundled library into a folder of the user's cache that only the user can read, below its own sum; what is
// there already is taken only with that sum.
func (l *loader) unpacked() (string, error) {
	packed, err := l.bundle()
	if err != nil {
		return "", err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	library, err := io.ReadAll(unzipped)
	if err != nil {
		return "", err
	}
	cache, err := l.cache()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(library)
	// Whoever owns the folder above could put another one in the place of ours.
	if err := private(filepath.Join(cache, "wfstudio")); err != nil {
		return cache, err
	}
	folder := filepath.Join(cache, "wfstudio", hex.EncodeToString(sum[:]))
	if err := private(folder); err != nil {
		return folder, err
	}
	path := filepath.Join(folder, systemName)
	if there, err := os.ReadFile(path); err == nil && sha256.Sum256(there) == sum {
		return path, nil
	}
	return path, replace(path, library)
}

// private makes a folder that belongs to the user alone, or refuses the one that is there.
func private(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	found, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if !found.IsDir() || runtime.GOOS != "windows" && (found.Mode().Perm()&0o077 != 0 || !mine(found)) {
		return fmt.Errorf("%s must be a folder that only its user can enter (mode 0700)", folder)
	}
	return nil
}

// replace puts a whole file in place at once: another process may be loading it.
func replace(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "unpacking-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err = file.Write(content); err == nil {
		err = file.Chmod(0o700)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// buffer is studio_buf: bytes of the library.
type buffer struct {
	data          *byte
	length, space uintptr
}

// take copies the bytes and gives the buffer back; nil when there are none.
func (l *library) take(b *buffer) []byte {
	if b.data == nil {
		return nil
	}
	bytes := append([]byte(nil), unsafe.Slice(b.data, b.length)...)
	l.bufFree(b)
	return bytes
}

func start(bytes []byte) *byte { return unsafe.SliceData(bytes) }
