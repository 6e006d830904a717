# Finds Xxhash and defines ds::xxhash, and ds::xxhash_inline: its functions from the header, for programs that run where the library
# is not installed.
include(FindPackageHandleStandardArgs)
find_path(Xxhash_INCLUDE_DIR xxhash.h)
find_library(Xxhash_LIBRARY xxhash)
find_package_handle_standard_args(Xxhash REQUIRED_VARS Xxhash_LIBRARY Xxhash_INCLUDE_DIR)
if(Xxhash_FOUND AND NOT TARGET ds::xxhash)
  add_library(ds::xxhash INTERFACE IMPORTED)
  target_include_directories(ds::xxhash SYSTEM INTERFACE ${Xxhash_INCLUDE_DIR})
  target_link_libraries(ds::xxhash INTERFACE ${Xxhash_LIBRARY})
  add_library(ds::xxhash_inline INTERFACE IMPORTED)
  target_include_directories(ds::xxhash_inline SYSTEM INTERFACE ${Xxhash_INCLUDE_DIR})
  target_compile_definitions(ds::xxhash_inline INTERFACE XXH_INLINE_ALL)
endif()
