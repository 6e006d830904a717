# Functions that keep every folder's CMakeLists.txt short: libraries, tests, time limits.
# -ffp-contract=off applies to all code: equal bits are a promise, and fma is written explicitly.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# With DS_UNITY a folder's files are compiled a few at a time, because most of a small file's time goes into headers that all
# of them include. ds_compile_alone(FILE ...) excludes files whose helpers have names that other files of the folder also use.
function(ds_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# ds_library(NAME SOURCES ... PUBLIC ... PRIVATE ...): static library ds_NAME with alias ds::NAME.
function(ds_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(ds_${name} STATIC ${ARG_SOURCES})
  add_library(ds::${name} ALIAS ds_${name})
  target_include_directories(ds_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(ds_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} ds::warnings)
endfunction()

# ds_long_test(NAME SECONDS [BUSY]): starts long tests first, so that no core is idle beside the last one. BUSY: the test computes
# more than it waits and takes two of the places of scripts/test.sh; busy tests start before all others.
function(ds_long_test name seconds)
  if("BUSY" IN_LIST ARGN)
    math(EXPR seconds "${seconds} + 1000")
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
  set_tests_properties(${name} PROPERTIES COST ${seconds})
endfunction()

# ds_timeout(NAME SECONDS): sets a test's timeout, 300 s by default; 5 times that with sanitizers, which make programs slower.
function(ds_timeout name seconds)
  if(NOT seconds)
    set(seconds 300)
  endif()
  if(DS_SANITIZE)
    math(EXPR seconds "${seconds} * 5")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds})
endfunction()

# ds_test(NAME LABELS ... SOURCES ... LINK ... [TIMEOUT s]): one doctest program, one ctest entry.
# A program that exits 77 counts as skipped.
function(ds_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ds_test_main ${ARG_LINK} ds::warnings)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  ds_timeout(${name} "${ARG_TIMEOUT}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77)
endfunction()

# ds_script_test(NAME SCRIPT LABELS ... [ARGS ...] [TIMEOUT s]): a shell or Python script as one ctest
# entry. DS_BIN names the folder of the binaries, DS_SOURCE that of the sources.
function(ds_script_test name script)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;ARGS" ${ARGN})
  add_test(NAME ${name} COMMAND ${script} ${ARG_ARGS})
  ds_timeout(${name} "${ARG_TIMEOUT}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "DS_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};DS_SOURCE=${PROJECT_SOURCE_DIR};DS_TESTS=${PROJECT_BINARY_DIR}/tests"
    # If the tests run in a pod, dslaunch must not behave as in a launcher's pod, where it waits for hosts that do not answer.
    ENVIRONMENT_MODIFICATION "KUBERNETES_SERVICE_HOST=unset:")
endfunction()
