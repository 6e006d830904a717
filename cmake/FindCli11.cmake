# Finds Cli11 (header only) and defines ds::cli11.
include(FindPackageHandleStandardArgs)
find_path(Cli11_INCLUDE_DIR CLI/CLI.hpp)
find_package_handle_standard_args(Cli11 REQUIRED_VARS Cli11_INCLUDE_DIR)
if(Cli11_FOUND AND NOT TARGET ds::cli11)
  add_library(ds::cli11 INTERFACE IMPORTED)
  target_include_directories(ds::cli11 SYSTEM INTERFACE ${Cli11_INCLUDE_DIR})
endif()
