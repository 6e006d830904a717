# Finds NlohmannJson (header only) and defines ds::json.
include(FindPackageHandleStandardArgs)
find_path(NlohmannJson_INCLUDE_DIR nlohmann/json.hpp)
find_package_handle_standard_args(NlohmannJson REQUIRED_VARS NlohmannJson_INCLUDE_DIR)
if(NlohmannJson_FOUND AND NOT TARGET ds::json)
  add_library(ds::json INTERFACE IMPORTED)
  target_include_directories(ds::json SYSTEM INTERFACE ${NlohmannJson_INCLUDE_DIR})
endif()
