//go:build !(linux && amd64) && !wfstudio_cgo

package wfstudio

func bundled() ([]byte, error) { return nil, errNoBundle }
