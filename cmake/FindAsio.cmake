# Finds Asio (header only) and defines ds::asio.
include(FindPackageHandleStandardArgs)
find_path(Asio_INCLUDE_DIR asio.hpp)
find_package_handle_standard_args(Asio REQUIRED_VARS Asio_INCLUDE_DIR)
if(Asio_FOUND AND NOT TARGET ds::asio)
  add_library(ds::asio INTERFACE IMPORTED)
  target_include_directories(ds::asio SYSTEM INTERFACE ${Asio_INCLUDE_DIR})
  # Asio 1.22 decides by whether a standard header came before it; files that decide differently allocate one way and
  # free the other (found by AddressSanitizer).
  target_compile_definitions(ds::asio INTERFACE ASIO_DISABLE_STD_ALIGNED_ALLOC)
endif()
