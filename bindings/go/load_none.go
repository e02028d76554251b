//go:build !((linux || darwin) && (amd64 || arm64))

package wfstudio

import (
	"errors"
	"os"
)

const systemName = "wfstudio"

func mine(os.FileInfo) bool { return true }

func libc() string { return "" }

func mapped() (string, error) { return "", nil }

func open(string) (*library, error) {
	return nil, errors.New("this module was not built for this platform")
}
