// Puts thrum-gdb.py into the program, in a section that gdb reads and the loader does not. thrum_embed_gdb_script in
// cmake/thrum_gdb_script.cmake compiles this file into a target.
//
// The entry is of kind 4: a name, a line feed, and the text of a Python script, up to a zero.
asm(".pushsection .debug_gdb_scripts, \"MS\", %progbits, 1\n"
    ".byte 4\n"
    ".ascii \"thrum-gdb.py\\n\"\n"
    ".incbin \"" THRUM_GDB_SCRIPT
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
