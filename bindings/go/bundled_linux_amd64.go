//go:build linux && amd64

package wfstudio

import native "github.com/wfstudio/wfstudio-go/lib/linux_amd64"

func bundled() ([]byte, error) {
	if packed := native.Packed(); packed != nil {
		return packed, nil
	}
	return nil, errNoBundle
}
