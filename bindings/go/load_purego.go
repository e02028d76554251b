//go:build (linux || darwin) && (amd64 || arm64)

package wfstudio

import (
	"fmt"
	"runtime"

	"github.com/ebitengine/purego"
)

var systemName = map[string]string{"darwin": "libwfstudio.1.dylib", "linux": "libwfstudio.so.1"}[runtime.GOOS]

// open loads a library; all its functions must be there, except in one that is too old to be used, which says so by its version.
func open(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	lib := &library{}
	version, err := purego.Dlsym(handle, "studio_abi_version")
	if err != nil {
		return nil, err
	}
	purego.RegisterFunc(&lib.abiVersion, version)
	if number := lib.abiVersion(); number>>16 != abiMajor || number&0xffff < abiMinor {
		return lib, nil
	}
	for name, function := range lib.symbols() {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("it has no %s", name)
		}
		purego.RegisterFunc(function, symbol)
	}
	return lib, nil
}
