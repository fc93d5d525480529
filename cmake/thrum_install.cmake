# `cmake --install` installs the headers, the libraries, the command `thrum`, a package for find_package(thrum) and
# files for pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(thrum_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thrum)
install(TARGETS thrum thrum_posix thrum_posix_locks EXPORT thrumTargets
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
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/thrum DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT thrumTargets NAMESPACE thrum:: DESTINATION ${thrum_package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/thrumConfig.cmake.in ${PROJECT_BINARY_DIR}/thrumConfig.cmake
  INSTALL_DESTINATION ${thrum_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/thrumConfigVersion.cmake COMPATIBILITY ${thrum_compatibility})
install(FILES ${PROJECT_BINARY_DIR}/thrumConfig.cmake ${PROJECT_BINARY_DIR}/thrumConfigVersion.cmake
  DESTINATION ${thrum_package_dir})
include(cmake/thrum_pkg_config.cmake)
