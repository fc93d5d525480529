# `cmake --install` installs the headers, the libraries, the command `thrum`, a package for find_package(thrum) and
# files for pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(thrum_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thrum)
install(TARGETS thrum thrum_posix thrum_posix_locks thrum_live EXPORT thrumTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET thrum_tls)
  install(TARGETS thrum_tls EXPORT thrumTlsTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/tls/include/thrum DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
  install(EXPORT thrumTlsTargets NAMESPACE thrum:: DESTINATION ${thrum_package_dir})
endif()
if(TARGET thrum_command)
  install(TARGETS thrum_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)   # it may not have been built
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/thrum ${PROJECT_SOURCE_DIR}/src/live/include/thrum
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT thrumTargets NAMESPACE thrum:: DESTINATION ${thrum_package_dir})

# The commands for gdb (docs/debugging.md). gdb finds the script of a shared library by the library's path below
# auto-load/, which is known when thrum is installed.
set(thrum_gdb_dir ${CMAKE_INSTALL_DATADIR}/thrum/gdb)
install(FILES ${PROJECT_SOURCE_DIR}/share/gdb/thrum-gdb.py ${PROJECT_SOURCE_DIR}/share/gdb/embed.cpp
  DESTINATION ${thrum_gdb_dir})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/thrum_gdb_script.cmake DESTINATION ${thrum_package_dir})
if(BUILD_SHARED_LIBS)
  set(thrum_library_file "$<TARGET_FILE_NAME:thrum>")
  install(CODE "
    set(library \"${CMAKE_INSTALL_LIBDIR}/${thrum_library_file}\")
    cmake_path(ABSOLUTE_PATH library BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
    cmake_path(GET library PARENT_PATH folder)
    set(data \"${CMAKE_INSTALL_DATADIR}\")
    cmake_path(ABSOLUTE_PATH data BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
    file(INSTALL \"${PROJECT_SOURCE_DIR}/share/gdb/thrum-gdb.py\" TYPE FILE
      DESTINATION \"\${data}/gdb/auto-load\${folder}\" RENAME \"${thrum_library_file}-gdb.py\")")
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/thrumConfig.cmake.in ${PROJECT_BINARY_DIR}/thrumConfig.cmake
  INSTALL_DESTINATION ${thrum_package_dir} PATH_VARS thrum_gdb_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/thrumConfigVersion.cmake COMPATIBILITY ${thrum_compatibility})
install(FILES ${PROJECT_BINARY_DIR}/thrumConfig.cmake ${PROJECT_BINARY_DIR}/thrumConfigVersion.cmake
  DESTINATION ${thrum_package_dir})
include(cmake/thrum_pkg_config.cmake)
