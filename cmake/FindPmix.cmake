# Finds the PMIx library (OpenPMIx), sets Pmix_FOUND and defines ds::pmix_library.
# Debian's libpmix-dev has it in a folder of its own, which only pkg-config knows.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_PMIX QUIET pmix)
endif()
find_path(Pmix_INCLUDE_DIR pmix_server.h HINTS ${PC_PMIX_INCLUDE_DIRS})
find_library(Pmix_LIBRARY pmix HINTS ${PC_PMIX_LIBRARY_DIRS})
mark_as_advanced(Pmix_INCLUDE_DIR Pmix_LIBRARY)
set(Pmix_VERSION "")
if(Pmix_INCLUDE_DIR)
  file(STRINGS ${Pmix_INCLUDE_DIR}/pmix_version.h lines REGEX "define PMIX_VERSION_(MAJOR|MINOR) ")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" Pmix_VERSION "${lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Pmix
  REQUIRED_VARS Pmix_LIBRARY Pmix_INCLUDE_DIR
  VERSION_VAR Pmix_VERSION
  REASON_FAILURE_MESSAGE "programs of Open MPI will not run (Debian: libpmix-dev)")
if(Pmix_FOUND AND NOT TARGET ds::pmix_library)
  add_library(ds::pmix_library INTERFACE IMPORTED)
  target_include_directories(ds::pmix_library SYSTEM INTERFACE ${Pmix_INCLUDE_DIR})
  target_link_libraries(ds::pmix_library INTERFACE ${Pmix_LIBRARY})
endif()
