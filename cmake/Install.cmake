# cmake --install build/release [--prefix PREFIX]: the programs, the CUDA backend, the reader of Parquet, the PMIx server, man page, docs, completions,
# ready configurations.
include(GNUInstallDirs)
install(TARGETS dslaunch dsrunner RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET dsengine_cuda)
  install(TARGETS dsengine_cuda LIBRARY DESTINATION lib) # dsrunner looks for it in ../lib
endif()
if(TARGET dsengine_parquet)
  install(TARGETS dsengine_parquet LIBRARY DESTINATION lib) # dsrunner looks for it in ../lib
  # The libraries of Arrow are copied into a folder of ours, where dsengine_parquet looks for them and no other program does.
  # Arrow of the system stays where the loader finds it.
  foreach(library ${ArrowParquet_arrow_LIBRARY} ${ArrowParquet_parquet_LIBRARY})
    cmake_path(GET library PARENT_PATH folder)
    if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      install(PROGRAMS ${library} DESTINATION lib/dslaunch)
      install(FILES ${folder}/licenses/LICENSE.txt ${folder}/licenses/NOTICE.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/arrow_licenses OPTIONAL)
    endif()
  endforeach()
endif()
if(TARGET dslaunch_pmix)
  install(TARGETS dslaunch_pmix LIBRARY DESTINATION lib) # dslaunch looks for it in ../lib
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
# Installs the pages that the man page and the help refer to.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN decisions EXCLUDE)
install(DIRECTORY configs hostfiles DESTINATION ${CMAKE_INSTALL_DATADIR}/dslaunch)
