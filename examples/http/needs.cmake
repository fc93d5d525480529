# llhttp, the parser of Node.js. Debian keeps it as sources (node-llhttp), so it gets the sanitizer and the architecture
# of the build.
set(THRUM_LLHTTP /usr/share CACHE PATH "Where llhttp/llhttp.c and include/llhttp/llhttp.h are")
set(llhttp_sources ${THRUM_LLHTTP}/llhttp/llhttp.c ${THRUM_LLHTTP}/llhttp/api.c ${THRUM_LLHTTP}/llhttp/http.c)

if(EXISTS ${THRUM_LLHTTP}/llhttp/llhttp.c AND EXISTS ${THRUM_LLHTTP}/include/llhttp/llhttp.h)
  enable_language(C)
  add_library(thrum_llhttp STATIC EXCLUDE_FROM_ALL ${llhttp_sources})
  target_include_directories(thrum_llhttp SYSTEM PUBLIC ${THRUM_LLHTTP}/include/llhttp)
  target_compile_definitions(thrum_llhttp PUBLIC LLHTTP_STRICT_MODE=1)   # lines end with CR LF, and nothing else
  target_compile_options(thrum_llhttp PRIVATE -w -fexceptions)   # what a callback throws passes through it
  if(THRUM_SANITIZE MATCHES undefined)
    target_compile_options(thrum_llhttp PRIVATE -fno-sanitize=undefined)   # it calls its callbacks through other types
  endif()
  set(example_libraries thrum_llhttp)
else()
  set(example_missing "no llhttp in ${THRUM_LLHTTP} (Debian: node-llhttp)")
endif()
