module github.com/wfstudio/wfstudio-go

go 1.23

require (
	github.com/ebitengine/purego v0.10.2
	github.com/wfstudio/wfstudio-go/lib/linux_amd64 v0.1.0
)

replace github.com/wfstudio/wfstudio-go/lib/linux_amd64 => ./lib/linux_amd64
