// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "WfStudio",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [.library(name: "WfStudio", targets: ["WfStudio"])],
    targets: [
        // The library and its header, as `make install` puts them; pkg-config tells where.
        .systemLibrary(name: "CWfStudio", pkgConfig: "wfstudio"),
        .target(name: "WfStudio", dependencies: ["CWfStudio"]),
        .testTarget(name: "WfStudioTests", dependencies: ["WfStudio"]),
    ]
)
