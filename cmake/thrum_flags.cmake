# The flags of thrum's own targets. thrum_own(target) gives a target the language level, the warnings and the options
# for code generation. The sanitizer is set for the whole tree, including GoogleTest, because a mix of instrumented and
# plain code hides errors and reports false ones.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(THRUM_ARCH x86_64)
  set(THRUM_FOREIGN_ARCH aarch64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(THRUM_ARCH aarch64)
  set(THRUM_FOREIGN_ARCH x86_64)
else()
  message(FATAL_ERROR "thrum supports x86_64 and aarch64 only, not ${CMAKE_SYSTEM_PROCESSOR}")
endif()

if(THRUM_SANITIZE)
  add_compile_options(-fsanitize=${THRUM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${THRUM_SANITIZE})
endif()

set(thrum_codegen
  # Landing pads for indirect branches. -fcf-protection=full must not be used, because a shadow stack supports only one
  # stack per thread.
  $<IF:$<STREQUAL:${THRUM_ARCH},x86_64>,-fcf-protection=branch,-mbranch-protection=bti>)

# A frame that is larger than a stack's guard must not jump over the guard into the stack below. With this flag the
# compiler touches each page of a large frame in order, so the guard is always hit. Large frames are in the users' code,
# so the flag is part of the targets' interface. gcc has the flag on both architectures, clang from version 11 on for
# x86_64 and from version 18 on for aarch64. An older clang would warn that the flag is unused. THRUM_STACK_CLASH_FLAG
# is the flag alone, for tools other than CMake.
set(THRUM_STACK_CLASH_FLAG -fstack-clash-protection)
set(thrum_stack_clash_clang $<IF:$<STREQUAL:${THRUM_ARCH},x86_64>,11,18>)
set(thrum_stack_clash "")
foreach(language CXX C)
  set(is_clang $<COMPILE_LANG_AND_ID:${language},Clang>)
  set(is_new_enough $<VERSION_GREATER_EQUAL:$<${language}_COMPILER_VERSION>,${thrum_stack_clash_clang}>)
  list(APPEND thrum_stack_clash
    $<$<COMPILE_LANG_AND_ID:${language},GNU>:${THRUM_STACK_CLASH_FLAG}>
    $<$<AND:${is_clang},${is_new_enough}>:${THRUM_STACK_CLASH_FLAG}>)
endforeach()

set(thrum_codegen_cxx
  -fasynchronous-unwind-tables                     # a goroutine's stack can be walked from every instruction
  -fno-semantic-interposition                      # thrum's functions are inlined in position-independent code
  $<$<BOOL:${THRUM_DEBUG_CHECKS}>:-fno-omit-frame-pointer>)

set(thrum_warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align -Wold-style-cast -Woverloaded-virtual
  $<$<BOOL:${THRUM_WERROR}>:-Werror>)
if(THRUM_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # gcc 12 warns about paths that it cannot remove because the sanitizers have added code to them.
  list(APPEND thrum_warnings -Wno-maybe-uninitialized -Wno-invalid-memory-model)
endif()

function(thrum_own target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE
    ${thrum_codegen} ${thrum_stack_clash}
    $<$<COMPILE_LANGUAGE:CXX>:${thrum_codegen_cxx}> $<$<COMPILE_LANGUAGE:CXX>:${thrum_warnings}>)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endfunction()

# Half of the time that a source file takes to compile is spent in standard headers, so the presets parse them once.
# thrum_precompiled(target library|program [HEADER...]) makes a target that holds the precompiled header, and the caller
# gives it its flags. Libraries and programs are compiled with different flags, so they cannot share a header.
# Without THRUM_PRECOMPILE every file is compiled by itself, and a file is refused that does not include what it uses.
# Users' builds do that, and the plain build of `./dev test --all`.
function(thrum_precompiled target kind)
  set(source ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  if(kind STREQUAL program)
    add_executable(${target} EXCLUDE_FROM_ALL ${source})
  else()
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
  endif()
  if(THRUM_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <memory>
      <new> <optional> <stdexcept> <string> <string_view> <system_error> <utility> <vector> ${ARGN})
  endif()
endfunction()

function(thrum_use_precompiled target header)
  if(THRUM_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${header})
  endif()
endfunction()
