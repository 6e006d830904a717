# Finds Apache Arrow's libraries for Parquet, sets ArrowParquet_FOUND and defines ds::arrow_parquet.
# Searches DS_ARROW_DIR (a variable of CMake or of the environment; a folder with include/ and the libraries in it or in lib/),
# the folder of scripts/install_packages.sh, and the system's folders.
set(places ${DS_ARROW_DIR} $ENV{DS_ARROW_DIR} ${PROJECT_SOURCE_DIR}/build/third_party/arrow)
find_path(ArrowParquet_INCLUDE_DIR parquet/arrow/reader.h HINTS ${places} PATH_SUFFIXES include)
mark_as_advanced(ArrowParquet_INCLUDE_DIR)

# The wheel has libraries only under the names that the loader searches, such as libarrow.so.2600.
set(ArrowParquet_VERSION "")
set(names NOTFOUND)
if(ArrowParquet_INCLUDE_DIR)
  file(STRINGS ${ArrowParquet_INCLUDE_DIR}/arrow/util/config.h lines REGEX "define ARROW_(SO_)?VERSION(_STRING)? ")
  string(REGEX REPLACE ".*VERSION_STRING \"([0-9.]+).*SO_VERSION \"([0-9]+)\".*" "\\1;\\2" versions "${lines}")
  list(GET versions 0 ArrowParquet_VERSION)
  list(GET versions 1 names)
endif()
foreach(library arrow parquet)
  find_library(ArrowParquet_${library}_LIBRARY lib${library}.so.${names} HINTS ${places} PATH_SUFFIXES lib)
  mark_as_advanced(ArrowParquet_${library}_LIBRARY)
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowParquet
  REQUIRED_VARS ArrowParquet_parquet_LIBRARY ArrowParquet_arrow_LIBRARY ArrowParquet_INCLUDE_DIR
  VERSION_VAR ArrowParquet_VERSION
  REASON_FAILURE_MESSAGE "data.format = \"parquet\" will not work (scripts/install_packages.sh parquet fetches the libraries)")
if(ArrowParquet_FOUND AND NOT TARGET ds::arrow_parquet)
  add_library(ds::arrow_parquet INTERFACE IMPORTED)
  target_include_directories(ds::arrow_parquet SYSTEM INTERFACE ${ArrowParquet_INCLUDE_DIR})
  target_link_libraries(ds::arrow_parquet INTERFACE ${ArrowParquet_parquet_LIBRARY} ${ArrowParquet_arrow_LIBRARY})
endif()
