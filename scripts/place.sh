#!/usr/bin/env bash
# Puts library, headers, pkg-config and CMake files below a folder: place.sh <library> <folder> [<prefix that pkg-config tells>]
set -euo pipefail
cd "$(dirname "$0")/.."
library=$1 folder=$2 prefix=${3:-'${pcfiledir}/../..'}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
include=${WFSTUDIO_INCLUDE:-include}
install -d "$folder/lib/pkgconfig" "$folder/lib/cmake/wfstudio" "$folder/include"
install -m 755 "$library" "$folder/lib/libwfstudio.so.$version"
ln -sf "libwfstudio.so.$version" "$folder/lib/libwfstudio.so.1"
ln -sf libwfstudio.so.1 "$folder/lib/libwfstudio.so"
install -m 644 "$include/wfstudio.h" "$include/wfstudio.ffi.h" bindings/cpp/wfstudio.hpp bindings/cpp/wfstudio_json.hpp bindings/cpp/wfstudio_names.hpp bindings/cpp/wfstudio_mhd.hpp "$folder/include/"
cat >"$folder/lib/pkgconfig/wfstudio.pc" <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: wfstudio
Description: Workflow Studio
Version: $version
Libs: -L\${libdir} -lwfstudio
Cflags: -I\${includedir}
END
install -m 644 bindings/cpp/cmake/wfstudio-config.cmake "$folder/lib/cmake/wfstudio/"
cat >"$folder/lib/cmake/wfstudio/wfstudio-config-version.cmake" <<END
set(PACKAGE_VERSION "$version")
if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION OR NOT PACKAGE_VERSION MATCHES "^\${PACKAGE_FIND_VERSION_MAJOR}\\\\.")
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
    if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
        set(PACKAGE_VERSION_EXACT TRUE)
    endif()
endif()
END
