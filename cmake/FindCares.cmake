# Finds c-ares and defines ds::cares. Prefers the static library, which Debian has, so that a node needs no
# package for dslaunch.
include(FindPackageHandleStandardArgs)
find_path(Cares_INCLUDE_DIR ares.h)
find_library(Cares_LIBRARY NAMES libcares.a libcares_static.a cares)
find_package_handle_standard_args(Cares REQUIRED_VARS Cares_LIBRARY Cares_INCLUDE_DIR)
if(Cares_FOUND AND NOT TARGET ds::cares)
  add_library(ds::cares INTERFACE IMPORTED)
  target_include_directories(ds::cares SYSTEM INTERFACE ${Cares_INCLUDE_DIR})
  target_link_libraries(ds::cares INTERFACE ${Cares_LIBRARY})
  # c-ares 1.34 still has the functions of 1.18, marked as deprecated.
  target_compile_definitions(ds::cares INTERFACE CARES_NO_DEPRECATED)
endif()
