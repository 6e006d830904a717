# Two helpers, so that every folder's CMakeLists.txt reads as one short list.
# -ffp-contract=off everywhere: equal bits are a promise, fma is written where it is meant.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# With DS_UNITY a folder's files are compiled a few at a time: most of a small file's time goes into the headers that all
# of them read. ds_compile_alone(FILE ...): not these, whose helpers have names that other files of the folder use too.
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

# ds_long_test(NAME SECONDS [BUSY]): long tests begin first, so that no core idles beside the last one. BUSY: it works
# more than it waits, and takes two of the places that scripts/test.sh has; those begin before all that wait.
function(ds_long_test name seconds)
  if("BUSY" IN_LIST ARGN)
    math(EXPR seconds "${seconds} + 1000")
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
  set_tests_properties(${name} PROPERTIES COST ${seconds})
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
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT})
endfunction()

# ds_script_test(NAME SCRIPT LABELS ... [ARGS ...] [TIMEOUT s]): a shell or Python script as one ctest
# entry; it finds the binaries through DS_BIN and the sources through DS_SOURCE.
function(ds_script_test name script)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;ARGS" ${ARGN})
  add_test(NAME ${name} COMMAND ${script} ${ARG_ARGS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "DS_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};DS_SOURCE=${PROJECT_SOURCE_DIR};DS_TESTS=${PROJECT_BINARY_DIR}/tests"
    # A pod that runs the tests is no launcher's pod, in which hosts that do not answer are waited for.
    ENVIRONMENT_MODIFICATION "KUBERNETES_SERVICE_HOST=unset:")
endfunction()
