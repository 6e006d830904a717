# cmake --install build/release [--prefix PREFIX]: the programs, the CUDA backend, man page, docs, completions, ready configurations.
include(GNUInstallDirs)
install(TARGETS dslaunch dsrunner RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET dsengine_cuda)
  install(TARGETS dsengine_cuda LIBRARY DESTINATION lib) # dsrunner looks for it in ../lib
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
# Installs the pages that the man page and the help refer to.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN decisions EXCLUDE)
install(DIRECTORY configs hostfiles DESTINATION ${CMAKE_INSTALL_DATADIR}/dslaunch)
