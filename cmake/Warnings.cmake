# ds::warnings: the warnings every target of ours is built with.
add_library(ds_warnings INTERFACE)
add_library(ds::warnings ALIAS ds_warnings)
# For C++ alone: cmake/Cuda.cmake has the list for nvcc.
target_compile_options(ds_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Woverloaded-virtual>")
# GCC 12 warns falsely about "literal" + std::string at -O2 and above (GCC bug 105651).
target_compile_options(ds_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
option(DS_WERROR "Treat warnings as errors" OFF)
if(DS_WERROR)
  target_compile_options(ds_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
