package wfstudio

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func packed(content string) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write([]byte(content))
	_ = zip.Close()
	return out.Bytes()
}

func TestTheLibraryIsFound(t *testing.T) {
	at := func(abi uint32, version string) *library {
		return &library{abiVersion: func() uint32 { return abi }, version: func() string { return version }}
	}
	const good = abiMajor<<16 | abiMinor
	missing := errors.New("cannot open shared object file")
	for _, one := range []struct {
		name     string
		variable string
		bundle   []byte
		mapped   string
		opens    map[string]*library // by base name; all others are missing
		found    string              // which one, or
		problem  string              // a part of the error
		warns    bool
	}{
		{name: "the variable", variable: "/x/named.so", bundle: packed("it"), opens: map[string]*library{"named.so": at(good, Version)}, found: "named.so"},
		{name: "the variable is no path", variable: "named.so", problem: "no absolute path"},
		{name: "no other than the variable", variable: "/x/named.so", bundle: packed("it"), opens: map[string]*library{systemName: at(good, Version)}, problem: "cannot open"},
		{name: "the bundled one", bundle: packed("it"), opens: map[string]*library{systemName: at(good, Version)}, found: systemName},
		{name: "the system's", opens: map[string]*library{systemName: at(good, Version)}, found: systemName},
		{name: "nowhere", problem: "tried:\n  the library of the module: this module was built without one\n  " + systemName + ": cannot open"},
		{name: "another major", opens: map[string]*library{systemName: at(2<<16, Version)}, problem: "version 2.0"},
		{name: "an older minor", opens: map[string]*library{systemName: at(1<<16, Version)}, problem: "version 1.0"},
		{name: "a newer minor", opens: map[string]*library{systemName: at(1<<16|99, Version)}, found: systemName},
		{name: "another version, of the system", opens: map[string]*library{systemName: at(good, "9.9.9")}, found: systemName, warns: true},
		{name: "another version, bundled", bundle: packed("it"), opens: map[string]*library{systemName: at(good, "9.9.9")}, problem: "it is version 9.9.9"},
		{name: "two copies", variable: "/x/named.so", mapped: "/y/libwfstudio.so", opens: map[string]*library{"named.so": at(good, Version)}, problem: "/y/libwfstudio.so already"},
		{name: "a broken bundle", bundle: []byte("this is no archive of gzip"), problem: "gzip: invalid header"},
	} {
		t.Run(one.name, func(t *testing.T) {
			cache, opened, warned := t.TempDir(), "", false
			l := &loader{
				platform: "linux-riscv64-musl", variable: one.variable,
				bundle: func() ([]byte, error) {
					if one.bundle == nil {
						return nil, errNoBundle
					}
					return one.bundle, nil
				},
				cache:  func() (string, error) { return cache, nil },
				mapped: func() (string, error) { return one.mapped, nil },
				open: func(path string) (*library, error) {
					lib := one.opens[filepath.Base(path)]
					if lib == nil {
						return nil, missing
					}
					if opened == "" {
						opened = path
					}
					return lib, nil
				},
				warn: func(string) { warned = true },
			}
			_, err := l.find()
			if one.problem != "" {
				var unsupported *UnsupportedPlatform
				if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), one.problem) || !strings.Contains(err.Error(), "linux-riscv64-musl") {
					t.Fatal(err)
				}
				return
			}
			if err != nil || filepath.Base(opened) != one.found || warned != one.warns {
				t.Fatal(opened, err, warned)
			}
			if inCache := strings.HasPrefix(opened, cache); inCache != (one.bundle != nil && one.variable == "") {
				t.Fatal(opened)
			}
		})
	}
}

func TestTheUnpackedLibraryIsTheUsersAlone(t *testing.T) {
	cache := t.TempDir()
	l := &loader{bundle: func() ([]byte, error) { return packed("it"), nil }, cache: func() (string, error) { return cache, nil }}
	path, err := l.unpacked()
	if err != nil {
		t.Fatal(err)
	}
	folder, _ := os.Stat(filepath.Dir(path))
	if folder.Mode().Perm() != 0o700 {
		t.Fatal(folder.Mode())
	}
	// One that was changed is put back.
	if err := os.WriteFile(path, []byte("evil"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.unpacked(); err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(path); string(content) != "it" {
		t.Fatalf("%s", content)
	}
	// A folder that others may enter is refused, and so is a link to one.
	_ = os.Chmod(filepath.Dir(path), 0o777)
	if _, err := l.unpacked(); err == nil {
		t.Fatal("a folder of everybody was taken")
	}
	_ = os.RemoveAll(filepath.Dir(path))
	_ = os.Symlink(t.TempDir(), filepath.Dir(path))
	if _, err := l.unpacked(); err == nil {
		t.Fatal("a link was taken")
	}
}
