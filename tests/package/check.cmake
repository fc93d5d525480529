# cmake -DBUILD=<thrum's build> -DHAS_TLS=<bool> -DSHARED=<bool> -DVERSION=<thrum's> -DCOMPILER=<c++> -DFLAGS=<flags>
#   -DWORK=<folder> -P check.cmake
# installs thrum and finds it as users do: by find_package, with and without OpenSSL, and by pkg-config.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix
  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)

function(find_it name)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/${name}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DVERSION=${VERSION} ${ARGN}
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  file(READ ${WORK}/${name}/compile_commands.json commands)
  if(NOT commands MATCHES "-fstack-clash-protection")   # gcc, and clang in the versions that thrum_flags.cmake names
    message(FATAL_ERROR "users of thrum::thrum compile without -fstack-clash-protection")
  endif()
endfunction()

find_it(without_openssl -DWITH_TLS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON)
if(HAS_TLS)
  find_it(with_openssl -DWITH_TLS=ON)
endif()

# gdb finds the commands of a shared library by the library's path.
if(NOT EXISTS ${WORK}/prefix/share/thrum/gdb/thrum-gdb.py)
  message(FATAL_ERROR "the commands for gdb are not installed")
endif()
if(SHARED)
  file(GLOB_RECURSE shared ${WORK}/prefix/libthrum.so.${VERSION})
  if(NOT EXISTS ${WORK}/prefix/share/gdb/auto-load${shared}-gdb.py)
    message(FATAL_ERROR "gdb does not find its commands for ${shared}")
  endif()
endif()

# The library needs nothing but the C and C++ runtimes. A sanitizer needs libraries of its own.
find_program(readelf NAMES readelf llvm-readelf)
function(needs_only_the_runtimes program)
  if(NOT readelf)
    return()
  endif()
  execute_process(COMMAND ${readelf} -d ${program} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE entries)
  string(REPLACE "[" "<" entries "${entries}")   # a bracket would join the items of a list
  string(REGEX MATCHALL "NEEDED[^<]*<[^]]*" needed "${entries}")
  list(TRANSFORM needed REPLACE ".*<" "")
  list(FILTER needed EXCLUDE REGEX "^(libstdc\\+\\+|libc\\+\\+|libgcc_s|libm|libc|libpthread|libdl|ld-linux.*)\\.so")
  if(needed)
    message(FATAL_ERROR "a program that uses thrum alone needs ${needed}")
  endif()
endfunction()

# The name that a program asks the loader for changes when find_package would refuse the version.
if(SHARED)
  string(REGEX REPLACE "^(0\\.[0-9]+|[1-9][0-9]*).*" "\\1" soversion ${VERSION})
  foreach(library IN ITEMS thrum thrum_posix thrum_posix_locks thrum_debug)
    file(GLOB_RECURSE links ${WORK}/prefix/lib${library}.so.${soversion})
    if(NOT links)
      message(FATAL_ERROR "no lib${library}.so.${soversion}: version and SONAME disagree")
    endif()
  endforeach()
endif()

# A program built with pkg-config alone, for each library.
find_program(pkg_config NAMES pkg-config pkgconf)
if(pkg_config)
  file(GLOB_RECURSE pc ${WORK}/prefix/thrum.pc)
  cmake_path(GET pc PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder}:$ENV{PKG_CONFIG_PATH})
  set(modules thrum thrum_posix thrum_posix_locks thrum_debug)
  if(HAS_TLS)
    list(APPEND modules thrum_tls)
  endif()
  separate_arguments(flags UNIX_COMMAND "${FLAGS}")
  foreach(module IN LISTS modules)
    execute_process(COMMAND ${pkg_config} --modversion ${module} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE version
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT version STREQUAL VERSION)
      message(FATAL_ERROR "pkg-config says ${module} ${version}, not ${VERSION}")
    endif()
    execute_process(COMMAND ${pkg_config} --cflags --libs ${module} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE options)
    if(NOT options MATCHES "-fstack-clash-protection")
      message(FATAL_ERROR "pkg-config does not tell users of ${module} to compile with -fstack-clash-protection")
    endif()
    separate_arguments(options UNIX_COMMAND "${options}")
    execute_process(COMMAND ${COMPILER} -std=c++20 ${flags}
      ${CMAKE_CURRENT_LIST_DIR}/program.cpp -DUSES_${module}=1 ${options} -Wl,-rpath,${folder}/.. -o ${WORK}/program
      COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${WORK}/program COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE said)
    if(NOT said STREQUAL "found\n")
      message(FATAL_ERROR "the program built with ${module} says: ${said}")
    endif()
    if(module STREQUAL "thrum" AND NOT SHARED AND NOT FLAGS)
      needs_only_the_runtimes(${WORK}/program)
    endif()
  endforeach()
endif()
file(REMOVE_RECURSE ${WORK})
