# GoogleTest is compiled from its sources (Debian: libgtest-dev), so that it has the tests' sanitizer and architecture.
set(THRUM_GTEST_SOURCE /usr/src/googletest CACHE PATH "The sources of GoogleTest")

if(EXISTS ${THRUM_GTEST_SOURCE}/CMakeLists.txt)
  set(BUILD_GMOCK OFF)
  set(INSTALL_GTEST OFF)
  add_subdirectory(${THRUM_GTEST_SOURCE} ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  foreach(library gtest gtest_main)
    # It is one large file, which takes a third of the time without optimisation.
    target_compile_options(${library} PRIVATE -w -O0)
    target_compile_features(${library} PUBLIC cxx_std_20)
  endforeach()
endif()
