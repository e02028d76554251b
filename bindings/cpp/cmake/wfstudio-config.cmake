# find_package(wfstudio) gives the target wfstudio::wfstudio: the library, its C header and the C++ headers (C++17).
get_filename_component(_wfstudio_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET wfstudio::wfstudio)
    find_package(Threads REQUIRED)
    add_library(wfstudio::wfstudio SHARED IMPORTED)
    set_target_properties(wfstudio::wfstudio PROPERTIES
        IMPORTED_LOCATION "${_wfstudio_prefix}/lib/libwfstudio.so"
        IMPORTED_SONAME "libwfstudio.so.1"
        INTERFACE_INCLUDE_DIRECTORIES "${_wfstudio_prefix}/include"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
unset(_wfstudio_prefix)
