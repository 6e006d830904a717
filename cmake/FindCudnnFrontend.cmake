# Finds NVIDIA's cudnn-frontend (headers only), sets CudnnFrontend_FOUND and defines ds::cudnn_frontend.
# Searches DS_CUDNN_FRONTEND_DIR (a variable of CMake or of the environment; a folder with include/ or the headers), the
# folder of scripts/install_packages.sh, Python packages (nvidia-cudnn-frontend), and the system's include folders.
file(GLOB python_places LIST_DIRECTORIES TRUE
  /usr/lib/python3*/*-packages /usr/local/lib/python3*/*-packages $ENV{HOME}/.local/lib/python3*/*-packages
  $ENV{VIRTUAL_ENV}/lib/python3*/*-packages $ENV{CONDA_PREFIX}/lib/python3*/*-packages)
find_path(CudnnFrontend_INCLUDE_DIR cudnn_frontend/graph_interface.h
  HINTS ${DS_CUDNN_FRONTEND_DIR} ENV DS_CUDNN_FRONTEND_DIR ${PROJECT_SOURCE_DIR}/build/third_party/cudnn_frontend
  PATHS ${python_places} ${CUDAToolkit_INCLUDE_DIRS}
  PATH_SUFFIXES include nvidia/cudnn_frontend/include)
# Headers of cuDNN itself: from the toolkit, Debian, or NVIDIA's Python wheel.
list(TRANSFORM python_places APPEND /nvidia/cudnn OUTPUT_VARIABLE cudnn_places)
find_path(CudnnFrontend_CUDNN_INCLUDE_DIR cudnn_graph.h
  HINTS ${DS_CUDNN_DIR} ENV DS_CUDNN_DIR ${CUDAToolkit_INCLUDE_DIRS} PATHS ${cudnn_places} PATH_SUFFIXES include)
mark_as_advanced(CudnnFrontend_INCLUDE_DIR CudnnFrontend_CUDNN_INCLUDE_DIR)

set(CudnnFrontend_VERSION "")
if(CudnnFrontend_INCLUDE_DIR)
  file(STRINGS ${CudnnFrontend_INCLUDE_DIR}/cudnn_frontend_version.h lines REGEX "define CUDNN_FRONTEND_M[AJINOR]+_VERSION")
  string(REGEX REPLACE ".*MAJOR_VERSION +([0-9]+).*MINOR_VERSION +([0-9]+).*" "\\1.\\2" CudnnFrontend_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudnnFrontend
  REQUIRED_VARS CudnnFrontend_INCLUDE_DIR CudnnFrontend_CUDNN_INCLUDE_DIR
  VERSION_VAR CudnnFrontend_VERSION
  REASON_FAILURE_MESSAGE "attention will use our own kernels (scripts/install_packages.sh build fetches the headers)")
if(CudnnFrontend_FOUND AND NOT TARGET ds::cudnn_frontend)
  add_library(ds::cudnn_frontend INTERFACE IMPORTED)
  target_include_directories(ds::cudnn_frontend SYSTEM INTERFACE
    ${CudnnFrontend_INCLUDE_DIR} ${CudnnFrontend_CUDNN_INCLUDE_DIR})
  # Functions are looked up in the libcudnn.so.9 that we opened. Its JSON support is left out, because it takes long to compile.
  target_compile_definitions(ds::cudnn_frontend INTERFACE
    NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING CUDNN_FRONTEND_SKIP_JSON_LIB)
endif()
