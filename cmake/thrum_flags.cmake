# The flags of thrum's own targets. thrum_own(target) gives a target the language level, the warnings and the
# code generation rules; the sanitizer is set for the whole tree, GoogleTest included, because mixing
# instrumented and plain code hides errors and reports false ones.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(THRUM_ARCH x86_64)
  set(THRUM_FOREIGN_ARCH aarch64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(THRUM_ARCH aarch64)
  set(THRUM_FOREIGN_ARCH x86_64)
else()
  message(FATAL_ERROR "thrum runs on x86_64 and aarch64, not on ${CMAKE_SYSTEM_PROCESSOR}")
endif()

if(THRUM_SANITIZE)
  add_compile_options(-fsanitize=${THRUM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${THRUM_SANITIZE})
endif()

set(thrum_codegen
  # Landing pads for indirect branches. Never -fcf-protection=full: a shadow stack knows one stack per thread only.
  $<IF:$<STREQUAL:${THRUM_ARCH},x86_64>,-fcf-protection=branch,-mbranch-protection=bti>)

# A frame that is larger than a stack's guard must not jump over it into the stack below. With this flag the compiler touches each page
# of a large frame in order, so the guard is always hit. The large frames are the users', so the flag is part of the targets' interface.
# gcc has it on both architectures, clang from 11 on for x86_64 and from 18 on for aarch64; an older clang would warn that the flag is
# unused. THRUM_STACK_CLASH_FLAG is the bare flag, for tools other than CMake.
set(THRUM_STACK_CLASH_FLAG -fstack-clash-protection)
set(thrum_stack_clash_clang $<IF:$<STREQUAL:${THRUM_ARCH},x86_64>,11,18>)
set(thrum_stack_clash "")
foreach(language CXX C)
  list(APPEND thrum_stack_clash
    $<$<COMPILE_LANG_AND_ID:${language},GNU>:${THRUM_STACK_CLASH_FLAG}>
    $<$<AND:$<COMPILE_LANG_AND_ID:${language},Clang>,$<VERSION_GREATER_EQUAL:$<${language}_COMPILER_VERSION>,${thrum_stack_clash_clang}>>:${THRUM_STACK_CLASH_FLAG}>)
endforeach()

set(thrum_codegen_cxx
  -fasynchronous-unwind-tables                     # every instruction of a goroutine's stack can be walked
  -fno-semantic-interposition                      # position independent, yet our own functions still inline
  $<$<BOOL:${THRUM_DEBUG_CHECKS}>:-fno-omit-frame-pointer>)

set(thrum_warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align -Wold-style-cast -Woverloaded-virtual
  $<$<BOOL:${THRUM_WERROR}>:-Werror>)
if(THRUM_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # gcc 12 warns of paths that no longer fold away once the sanitizers have added their code.
  list(APPEND thrum_warnings -Wno-maybe-uninitialized -Wno-invalid-memory-model)
endif()

function(thrum_own target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE
    ${thrum_codegen} ${thrum_stack_clash} $<$<COMPILE_LANGUAGE:CXX>:${thrum_codegen_cxx}> $<$<COMPILE_LANGUAGE:CXX>:${thrum_warnings}>)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endfunction()
