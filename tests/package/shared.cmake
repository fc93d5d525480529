# cmake -DSOURCE=<thrum> -DWORK=<folder> -DCOMPILER=<c++> -DVERSION=<thrum's> -P shared.cmake: with BUILD_SHARED_LIBS,
# the name that a program asks the loader for (SONAME) changes exactly when find_package would refuse the version, and
# dlclose unloads none of the libraries, because they keep pointers into each other. It configures and compiles nothing;
# `./dev test --only plain` links such libraries.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DBUILD_SHARED_LIBS=ON COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)

string(REGEX REPLACE "^(0\\.[0-9]+|[1-9][0-9]*).*" "\\1" soversion ${VERSION})
file(STRINGS ${WORK}/build.ninja names REGEX "^ +SONAME = ")
foreach(library IN ITEMS thrum thrum_posix thrum_posix_locks thrum_debug)
  if(NOT "  SONAME = lib${library}.so.${soversion}" IN_LIST names)
    message(FATAL_ERROR "the version is ${VERSION}, but lib${library}.so.${soversion} is not among these: ${names}")
  endif()
endforeach()
foreach(name IN LISTS names)
  if(NOT name MATCHES "\\.so\\.${soversion}$")
    message(FATAL_ERROR "the version is ${VERSION}, but there is${name}")
  endif()
endforeach()

file(STRINGS ${WORK}/build.ninja lines REGEX "^build |^ +(LINK_FLAGS|SONAME) = ")
foreach(line IN LISTS lines)
  if(line MATCHES "^build ")
    set(flags "")
  elseif(line MATCHES "LINK_FLAGS = (.*)")
    set(flags ${CMAKE_MATCH_1})
  elseif(NOT flags MATCHES "-z(,| -Xlinker )nodelete")   # as gcc and as clang take it
    message(FATAL_ERROR "a library is linked without -z nodelete:${line}")
  endif()
endforeach()

# As find_package reads the file: find_package(thrum <version>).
file(GLOB_RECURSE file ${WORK}/thrumConfigVersion.cmake ${WORK}/thrum-config-version.cmake)
function(find_version wanted compatible)
  string(REPLACE "." ";" parts ${wanted})
  list(GET parts 0 PACKAGE_FIND_VERSION_MAJOR)
  list(GET parts 1 PACKAGE_FIND_VERSION_MINOR)
  set(PACKAGE_FIND_VERSION ${wanted})
  set(CMAKE_SIZEOF_VOID_P 8)
  include(${file})
  if(NOT PACKAGE_VERSION_COMPATIBLE STREQUAL compatible)
    message(FATAL_ERROR
      "find_package(thrum ${wanted}) of ${VERSION}: compatible ${PACKAGE_VERSION_COMPATIBLE}, expected ${compatible}")
  endif()
endfunction()
string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" unused ${VERSION})
math(EXPR next_major "${CMAKE_MATCH_1} + 1")
math(EXPR next_minor "${CMAKE_MATCH_2} + 1")
find_version(${CMAKE_MATCH_1}.${CMAKE_MATCH_2} TRUE)
find_version(${next_major}.0 FALSE)
find_version(${CMAKE_MATCH_1}.${next_minor} FALSE)
file(REMOVE_RECURSE ${WORK})
