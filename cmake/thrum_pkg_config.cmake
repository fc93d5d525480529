# Writes thrum.pc and one file for each of the other libraries, for builds without CMake, such as `c++ $(pkg-config
# --cflags --libs thrum_posix)`. Paths are relative to the file, so that an installed tree can be moved, as `cmake
# --install --prefix` does.
set(pkg_config_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(folder libdir includedir)
  string(TOUPPER ${folder} upper)
  set(${folder} ${CMAKE_INSTALL_${upper}})
  if(NOT IS_ABSOLUTE "${${folder}}")
    set(${folder} "\${prefix}/${${folder}}")
  endif()
endforeach()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up "/${pkg_config_dir}" "/")
  string(REGEX REPLACE "/$" "" up ${up})
  set(prefix "\${pcfiledir}/${up}")
endif()

# thrum_pkg_config(name description [requires] [libs before the library's own] [cflags])
function(thrum_pkg_config name description requires options cflags)
  string(JOIN ", " requires_private ${ARGN})
  if(NOT BUILD_SHARED_LIBS)   # the program has to link what a static library needs
    string(JOIN ", " requires ${requires} ${requires_private})
    set(requires_private "")
  endif()
  string(STRIP "${options} -L\${libdir} -l${name}" libs)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/thrum.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pkg_config_dir})
endfunction()

set(cflags "-I\${includedir} -pthread ${THRUM_STACK_CLASH_FLAG}")
if(THRUM_DEBUG_CHECKS)   # programs and the library must agree on the layout of the objects
  string(APPEND cflags " -DTHRUM_DEBUG_CHECKS=1")
endif()
set(options -pthread)
if(NOT BUILD_SHARED_LIBS)   # a plugin with thrum inside is not unloaded: see src/thrum/CMakeLists.txt
  string(APPEND options " -Wl,-z,nodelete")
endif()
thrum_pkg_config(thrum "${PROJECT_DESCRIPTION}" "" "${options}" "${cflags}")
thrum_pkg_config(thrum_posix "The C library's blocking calls park their goroutine" "thrum = ${PROJECT_VERSION}"
  -Wl,-u,thrum_posix_calls "")
thrum_pkg_config(thrum_posix_locks "The C library's mutexes, condition variables and joins park their goroutine"
  "thrum_posix = ${PROJECT_VERSION}" -Wl,-u,thrum_posix_locks_calls "")
thrum_pkg_config(thrum_debug "The live view of a program, for browsers and Prometheus" "thrum = ${PROJECT_VERSION}" "" "")
if(TARGET thrum_tls)
  thrum_pkg_config(thrum_tls "TLS on goroutines, by OpenSSL" "thrum = ${PROJECT_VERSION}" "" ""
    "libssl >= 3.0" "libcrypto >= 3.0")
endif()
