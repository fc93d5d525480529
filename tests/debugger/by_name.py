"""For gdb, beside thrum-gdb.py: on(NAME, COMMAND) runs `goroutine N COMMAND` on the goroutine with this name."""


def on(name, command):
    print("\n@@%s: %s" % (name, command))
    for g in Worlds.get().goroutines:  # noqa: F821 (of thrum-gdb.py)
        if g.name == name:
            try:
                gdb.execute("goroutine %d %s" % (g.id, command))  # noqa: F821
            except gdb.error as error:  # noqa: F821
                print("error: %s" % error)
            return
    print("error: no goroutine has this name")
