# thrum_embed_gdb_script(target) puts the commands for gdb (docs/debugging.md) into a program, so that they are at hand
# wherever the program or its core file is debugged. It is meant for programs that link thrum statically. gdb loads the
# script if `auto-load safe-path` names the program, and prints a warning if not.
function(thrum_embed_gdb_script target)
  set(source ${THRUM_GDB_FOLDER}/embed.cpp)
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES
    COMPILE_DEFINITIONS "THRUM_GDB_SCRIPT=\"${THRUM_GDB_FOLDER}/thrum-gdb.py\""
    OBJECT_DEPENDS ${THRUM_GDB_FOLDER}/thrum-gdb.py SKIP_PRECOMPILE_HEADERS ON)
endfunction()
