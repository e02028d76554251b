//go:build wfstudio_cgo

package wfstudio

const systemName = "libwfstudio.so.1"

// open gives what the linker found by pkg-config; there is no other.
func open(string) (*library, error) { return linked(), nil }

func bundled() ([]byte, error) { return nil, errNoBundle }
