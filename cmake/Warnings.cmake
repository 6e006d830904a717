# ds::warnings: the warnings every target of ours is built with.
add_library(ds_warnings INTERFACE)
add_library(ds::warnings ALIAS ds_warnings)
target_compile_options(ds_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
option(DS_WERROR "Treat warnings as errors" OFF)
if(DS_WERROR)
  target_compile_options(ds_warnings INTERFACE -Werror)
endif()
