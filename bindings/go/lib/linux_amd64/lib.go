// Package linux_amd64 carries the library for Linux on x86-64 with glibc; the module wfstudio-go unpacks it.
package linux_amd64

import "embed"

// The packaging puts libwfstudio.so.gz there; a checkout has none.
//
//go:embed files
var files embed.FS

// Packed is the library, compressed by gzip; nil in a checkout.
func Packed() []byte {
	packed, err := files.ReadFile("files/libwfstudio.so.gz")
	if err != nil {
		return nil
	}
	return packed
}
