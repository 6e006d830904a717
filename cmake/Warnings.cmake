# ds::warnings: the compiler warnings of all our targets.
add_library(ds_warnings INTERFACE)
add_library(ds::warnings ALIAS ds_warnings)
# Only for C++; cmake/Cuda.cmake has the list for nvcc.
target_compile_options(ds_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Woverloaded-virtual>")
# GCC 12 gives a false warning about "literal" + std::string at -O2 and above (GCC bug 105651).
target_compile_options(ds_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
option(DS_WERROR "Treat warnings as errors" OFF)
if(DS_WERROR)
  target_compile_options(ds_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
