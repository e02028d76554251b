module github.com/wfstudio/wfstudio-go/lib/linux_amd64

go 1.23
