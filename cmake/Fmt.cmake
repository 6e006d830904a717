# ds::fmt: fmt with its few compiled functions built in. Debian has no static libfmt, and a shared one has to be found,
# mapped and relocated by every agent that starts.
find_package(fmt REQUIRED)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  add_library(ds_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_functions.cpp)
  # Not for nvcc, whose host compiler must not be told of /usr/include.
  target_include_directories(ds_fmt SYSTEM PUBLIC
    $<$<COMPILE_LANGUAGE:CXX>:$<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>>)
else() # what is compiled there has other names
  add_library(ds_fmt INTERFACE)
  target_link_libraries(ds_fmt INTERFACE fmt::fmt)
endif()
add_library(ds::fmt ALIAS ds_fmt)
