# Finds Asio (header only) and defines ds::asio.
include(FindPackageHandleStandardArgs)
find_path(Asio_INCLUDE_DIR asio.hpp)
find_package_handle_standard_args(Asio REQUIRED_VARS Asio_INCLUDE_DIR)
if(Asio_FOUND AND NOT TARGET ds::asio)
  add_library(ds::asio INTERFACE IMPORTED)
  target_include_directories(ds::asio SYSTEM INTERFACE ${Asio_INCLUDE_DIR})
  # Asio 1.22 chooses its allocation function by whether a standard header was included before it. Files that choose differently
  # allocate with one function and free with the other (found by AddressSanitizer).
  target_compile_definitions(ds::asio INTERFACE ASIO_DISABLE_STD_ALIGNED_ALLOC)
endif()
