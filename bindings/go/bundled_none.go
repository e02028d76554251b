//go:build !(linux && amd64)

package wfstudio

func bundled() ([]byte, error) { return nil, errNoBundle }
