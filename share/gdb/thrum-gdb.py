"""gdb commands for programs that use thrum: goroutines, Ps and Ms, in live processes and in core files.

  info goroutines [-g] [TEXT]   all goroutines; -g groups equal stacks; TEXT: only lines with this text
  goroutine N                   selects goroutine N, so that bt, up, down, frame, print, info locals are about it
  goroutine N COMMAND           runs one command of gdb on goroutine N (bt, locals, up, print x, ...)
  goroutine all COMMAND         runs it on each goroutine
  goroutine 0                   goes back to the thread
  info procs, info ms           the Ps with their run queues, and the Ms with their threads
  thrum-gcore FILE              a core file with all goroutine stacks, which gdb's gcore leaves out

docs/debugging.md describes them. Nothing is called in the process and no register is written, so everything works on
core files too. All knowledge about the runtime's data comes from a table in the program (thrum_debugger_table), so the
library needs no debug information.

How a parked goroutine is shown: gdb unwinds the selected thread, whose innermost frame is left as it is. An unwinder of
this script then claims that this frame was called from where the goroutine is parked. It gives gdb the three registers
that the runtime saves there (sp, frame pointer, pc); gdb finds the others in the frames, by the unwind information. So
frame 0 belongs to the borrowed thread, and the goroutine's frames follow. A goroutine that is on a thread (running, in
a system call, or preempted by a signal) is shown by selecting that thread.
"""
import re
import struct
import time

import gdb
import gdb.printing
import gdb.unwinder

MAGIC = b"thrum debugger\0\0"
VERSION = 1
FRAMES_MAX = 100  # that are looked at to find the function of a goroutine
STACK_BYTES_OF_WAITERS = 2048  # of a parked stack, in which the places in channels' queues are looked for


class Error(gdb.GdbError):
    """Shown without Python's traceback."""


# ---- memory and the table


def read(address, count):
    return bytes(gdb.selected_inferior().read_memory(address, count))


def u64(address):
    return struct.unpack("<Q", read(address, 8))[0]


def text_at(address, count_max=64):
    """The C string at the address, or what can be read of it. It may lie at the end of a mapping."""
    for count in (count_max, 16 - address % 16):
        try:
            return read(address, count).split(b"\0")[0].decode("utf-8", "replace")
        except gdb.MemoryError:
            pass
    return ""


class Table:
    """The rows of thrum_debugger_table: members with their offsets, sizes, and the names of states."""

    HEAD = struct.Struct("<16sIIIIQQ")

    def __init__(self, address):
        self.address = address
        magic, self.version, row_bytes, offset, count, _, _ = self.HEAD.unpack(read(address, self.HEAD.size))
        if magic != MAGIC:
            raise ValueError("no table")
        if self.version != VERSION:
            raise Error("this script reads version %d of thrum's table, and the program has version %d: use the script "
                        "that was installed with the program's thrum" % (VERSION, self.version))
        self.offsets, self.states = {}, {}
        rows = read(address + offset, row_bytes * count)
        for at in range(0, len(rows), row_bytes):
            name = rows[at:at + row_bytes - 8].split(b"\0")[0].decode()
            value = struct.unpack_from("<Q", rows, at + row_bytes - 8)[0]
            kind, is_state, state = name.partition("=")
            if is_state:
                self.states.setdefault(kind, {})[value] = state
            else:
                self.offsets[name] = value

    def __getitem__(self, name):
        return self.offsets[name]

    def run(self):
        return self.HEAD.unpack(read(self.address, self.HEAD.size))[5]

    def poll_descs(self):
        return self.HEAD.unpack(read(self.address, self.HEAD.size))[6]

    def name_of(self, kind, number):
        return self.states[kind].get(number, "%s %d" % (kind, number))

    def number_of(self, kind, name):
        return next(number for number, its in self.states[kind].items() if its == name)


def addresses_of_tables():
    """By the symbol, and by the sections, which a stripped program still has. A plugin may contain another table."""
    found = []
    try:
        found.append(int(gdb.parse_and_eval("(unsigned long)&thrum_debugger_table")))
    except gdb.error:
        pass
    files = gdb.execute("info files", to_string=True)
    found += [int(low, 16) for low in re.findall(r"(0x[0-9a-f]+) - 0x[0-9a-f]+ is \.thrum_debugger\b", files)]
    return list(dict.fromkeys(found))


def find_table():
    tables = []
    for address in addresses_of_tables():
        try:
            tables.append(Table(address))
        except (ValueError, gdb.MemoryError):
            pass
    if not tables:
        raise Error("no thrum in this program: there is no thrum_debugger_table, or its memory cannot be read")
    return max(tables, key=lambda table: table.run() != 0)


# ---- the runtime's records


class Record:
    """The bytes of a record, and its members by the names of the table."""

    def __init__(self, table, kind, address, data=None):
        self.table, self.kind, self.address = table, kind, address
        self.data = data if data is not None else read(address, table[kind])

    def get(self, member, code):
        return struct.unpack_from("<" + code, self.data, self.table[self.kind + "." + member])[0]


class Goroutine:
    def __init__(self, world, address, data):
        table = world.table
        its = Record(table, "G", address, data)
        self.address = address
        self.id = its.get("id", "Q")
        self.status = table.name_of("g_status", its.get("status", "I"))
        self.reason = table.name_of("wait_reason", its.get("waits_for", "B"))
        self.sp, self.fp, self.pc = (its.get("saved." + which, "Q") for which in ("sp", "fp", "pc"))
        self.on = its.get("on", "Q")
        self.is_locked = its.get("detour.is_locked", "B") != 0
        self.is_at_home = its.get("is_at_home", "B") != 0
        self.step = its.get("task.step", "Q")
        self.created_at = its.get("task.created_at", "Q")
        self.created_by = its.get("task.created_by", "Q")
        self.join = its.get("join", "Q")
        name = its.get("name", "Q")
        self.name = text_at(name) if name != 0 else ""
        self.is_foreign = False
        is_known = self.reason == "mutex" or its.get("attention", "B") & table["g_attend.aged"]
        self.since_ns = its.get("waits_since_ns", "q") if is_known and self.status == "waiting" else 0
        self.low = self.top = 0

    def waits(self):
        return self.status == "waiting"

    def has_stack(self, sp):
        return self.low <= sp < self.top


class World:
    """Everything that is read of a stopped process or a core file, as long as it stands still."""

    def __init__(self):
        self.table = find_table()
        self.sched = self.table.run()
        if self.sched == 0:
            raise Error("no thrum::run is alive")
        self.ms = self.read_ms()
        self.m_of_current = {m.current: m for m in self.ms if m.current != 0}
        self.goroutines = sorted(self.read_goroutines(), key=lambda g: g.id)
        self.by_id = {g.id: g for g in self.goroutines}
        self.by_address = {g.address: g for g in self.goroutines}
        self.on_stack = {}
        for g in self.goroutines:
            if g.on != 0:
                self.on_stack.setdefault(g.on, []).append(g)
        self.thread_by_lwp = {thread.ptid[1] or thread.ptid[2]: thread for thread in gdb.selected_inferior().threads()}
        self.objects = self.places = self.stack_marks = None
        self.known_stacks, self.known_places = KnownStacks(), {}
        self.now_ns = self.estimate_now()

    def record(self, kind, address, data=None):
        return Record(self.table, kind, address, data)

    def of_sched(self, member, code):
        return struct.unpack("<" + code, read(self.sched + self.table["Sched." + member], struct.calcsize(code)))[0]

    # --- Gs, Ms, Ps

    def slab(self, first, slab_name, kind):
        """(address, bytes) of each record of a slab."""
        table, size = self.table, self.table[kind]
        chunk = u64(first + table[slab_name + ".chunks_"])
        while chunk != 0:
            used = u64(chunk + table[slab_name + ".chunk.used"])
            begin = chunk + table[slab_name + ".chunk.records"]
            data = read(begin, used * size) if used else b""
            for i in range(used):
                yield begin + i * size, data[i * size:(i + 1) * size]
            chunk = u64(chunk + table[slab_name + ".chunk.next"])

    def read_goroutines(self):
        table = self.table
        without_life = {table.number_of("g_status", name) for name in ("idle", "dead")}
        status_at = table["G.status"]
        for address, data in self.slab(self.sched + table["Sched.records.gs_"], "g_slab", "G"):
            if struct.unpack_from("<I", data, status_at)[0] in without_life:
                continue
            g = Goroutine(self, address, data)
            if g.on != 0:
                on = self.record("stack", g.on)
                g.low, g.top = on.get("low", "Q"), on.get("top", "Q")
            yield g
        for m in self.ms:
            if m.is_foreign and m.current != 0 and m.in_runtime:
                g = Goroutine(self, m.current, read(m.current, table["G"]))
                g.is_foreign = True
                yield g

    def read_ms(self):
        class M:
            pass

        found, at = [], self.of_sched("ms.all_", "Q")
        while at != 0:
            its, m = self.record("M", at), M()
            m.address, m.id, m.tid = at, its.get("id", "i"), its.get("tid", "i")
            m.current, m.p = its.get("current", "Q"), its.get("p", "Q")
            m.in_runtime, m.is_foreign, m.spins = (its.get(which, "B") != 0 for which in
                                                   ("in_runtime", "is_foreign", "spinning"))
            m.attention, m.idle_since_ns = its.get("attention", "I"), its.get("idle_since_ns", "q")
            m.status = self.table.name_of("m_status", its.get("status", "B"))
            found.append(m)
            at = its.get("all_link", "Q")
        return sorted(found, key=lambda m: m.id)

    def read_ps(self):
        class P:
            pass

        found = []
        for i in range(self.of_sched("procs.made_", "i")):
            at = u64(self.sched + self.table["Sched.procs.all_"] + 8 * i)
            its, p = self.record("P", at), P()
            p.address, p.id, p.m = at, its.get("id", "i"), its.get("m", "Q")
            p.is_in_use = i < self.of_sched("procs.size_", "i")
            p.status = self.table.name_of("p_status", its.get("status", "I"))
            p.schedtick = its.get("schedtick", "I")
            p.tick_since_ns = its.get("seen.tick_since_ns", "q")
            head, tail, mask = (its.get("queue." + which, "I") for which in ("head_", "tail_", "mask_"))
            slots = [struct.unpack_from("<Q", its.data, self.table["P.queue.slots_"] + 8 * (n & mask))[0]
                     for n in range(head, head + ((tail - head) & 0xffffffff))]
            p.queued = [entry & ~3 for entry in slots]
            p.next = its.get("queue.next_", "Q") & ~3
            found.append(p)
        return found

    def estimate_now(self):
        """The monotonic clock when the process stopped. A core file does not contain it, but the newest time that the
        runtime has noted is a lower bound."""
        noted = [g.since_ns for g in self.goroutines] + [m.idle_since_ns for m in self.ms]
        noted += [p.tick_since_ns for p in self.read_ps()]
        newest = max(noted, default=0)
        return max(newest, time.monotonic_ns()) if is_live_here() else newest

    # --- what a goroutine waits for

    def object_of(self, g):
        """A text, or ''."""
        if self.objects is None:
            self.objects = self.read_objects()
        if g.address not in self.objects and (g.reason.startswith("chan") or g.reason == "select"):
            self.objects[g.address] = self.channels_of(g)
        return self.objects.get(g.address, "") if g.waits() else ""

    def read_objects(self):
        found = {}
        for address, g in self.waiters():
            found[g] = self.text_of_object(address)
        for g in self.goroutines:
            if g.join in self.by_address:
                found[g.join] = "goroutine %d" % g.id
        found.update(self.read_descriptors())
        return found

    def waiters(self):
        """(address waited for, address of the G) of each entry in the wait table."""
        table = self.table
        first, step = self.sched + table["Sched.waiters.buckets_"], table["wait_bucket_in_table"]
        for i in range(table["wait_bucket_in_table.count"]):
            todo = [u64(first + i * step + table["wait_bucket_in_table.bucket.root_"])]
            while todo:
                at = todo.pop()
                if at == 0:
                    continue
                node = self.record("sudog", at)
                todo += [node.get("left", "Q"), node.get("right", "Q")]
                while True:
                    yield node.get("address", "Q"), node.get("g", "Q")
                    if node.get("next", "Q") == 0:
                        break
                    node = self.record("sudog", node.get("next", "Q"))

    def waiters_for(self, low, high):
        """The ids of the goroutines that wait for an object at these addresses."""
        return [self.id_at(g) for address, g in self.waiters() if low <= address < high]

    def id_at(self, address):
        return self.by_address[address].id if address in self.by_address else "?"

    def text_of_object(self, address):
        """A lock is waited for by its address plus a kind (sync/lock_holders.h)."""
        kind, lock = address & 3, address & ~3
        name = {0: None, 1: "mutex", 2: "shared_mutex", 3: "shared_mutex"}[kind]
        if name is None:
            return hex(lock)
        holder = self.holder_of(name, lock)
        return hex(lock) + (" held by goroutine %d" % holder.id if holder else "")

    def holder_of(self, kind, lock):
        table = self.table
        if kind == "mutex":
            state = struct.unpack("<I", read(lock + table["mutex.state_"], 4))[0]
            is_of_this_run = state >> table["mutex.epoch_shift"] == self.of_sched("epoch", "I")
            is_held = state & table["mutex.locked"] and not (is_of_this_run and state & table["mutex.promised"])
        else:
            is_held = u64(lock + table["shared_mutex.state_"]) & table["shared_mutex.held"]
        mark = struct.unpack("<I", read(lock + table[kind + ".holder_"], 4))[0]
        return self.by_stack_mark(mark) if is_held else None

    def by_stack_mark(self, mark):
        if self.stack_marks is None:
            shift = self.table["stack_mark_shift"]
            self.stack_marks = {}
            for g in self.goroutines:
                for each in range(g.low >> shift, (g.top - 1 >> shift) + 1) if g.on else ():
                    known = self.stack_marks.get(each & 0xffffffff)
                    if known is None or known.status == "hosting":
                        self.stack_marks[each & 0xffffffff] = g
        return self.stack_marks.get(mark)

    def read_descriptors(self):
        found, table = {}, self.table
        mask, arriving = table["poll_desc.payload_mask"], table["poll_desc.arriving"]
        store = table.poll_descs()
        if store == 0:
            return found
        for address, data in self.slab(store, "poll_desc_slab", "poll_desc"):
            desc = self.record("poll_desc", address, data)
            for side in ("read", "write"):
                waiter = desc.get(side + ".word", "Q") & mask
                if waiter > arriving:
                    found[waiter] = "fd %d, to %s" % (desc.get("fd", "i"), side)
        return found

    def channels_of(self, g):
        """A goroutine's places in the queues of channels are on its own stack, not far above its sp."""
        table = self.table
        g_at, size = table["channel_waiter.g"], table["channel_waiter"]
        count = min(STACK_BYTES_OF_WAITERS, g.top - g.sp) if g.has_stack(g.sp) else 0
        data = read(g.sp, count) if count > 0 else b""
        found = []
        own_address, at = struct.pack("<Q", g.address), -1
        while True:
            at = data.find(own_address, at + 1)
            if at < 0:
                break
            begin = at - g_at
            if at % 8 != 0 or begin < 0 or begin + size > len(data):
                continue
            place = self.record("channel_waiter", g.sp + begin, data[begin:begin + size])
            flags = [place.get(which, "B") for which in ("sends", "is_select", "is_queued")]
            on = place.get("on", "Q")
            if max(flags) <= 1 and flags[2] == 1 and on % 8 == 0 and on > 4096:
                found.append(("send to " if flags[0] else "receive from ") + hex(on) if flags[1] else hex(on))
        return ", ".join(dict.fromkeys(found))

    # --- where a goroutine is

    def innermost_on_its_stack(self, g):
        """The goroutine that runs on g's stack: g itself, or one that g joined in place."""
        return next((each for each in self.on_stack.get(g.on, ()) if each.status != "hosting"), g)

    def nested(self, g):
        """All goroutines on g's stack, the one that it belongs to first and the one that runs last. Those in between
        are in the order of their ids, because a goroutine that is joined was usually made later."""
        owner = self.record("stack", g.on).get("goroutine_id", "Q")
        return sorted(self.on_stack[g.on], key=lambda each: (each.id != owner, each.status != "hosting", each.id))

    def thread_of(self, m):
        return self.thread_by_lwp.get(m.tid)

    def thread_on_stack(self, g):
        """The gdb thread that is in frames of this stack, or None."""
        if g.is_foreign:
            return self.thread_of(self.m_of_current[g.address])
        if g.on == 0:
            return None
        m = self.m_of_current.get(g.address)
        thread = self.thread_of(m) if m is not None else None
        if thread is not None:
            return thread if any(g.has_stack(sp) for sp in self.stack_pointers(thread)) else None
        return next((each for each in self.thread_by_lwp.values()
                     if any(g.has_stack(sp) for sp in self.stack_pointers(each))), None)

    def stack_pointers(self, thread):
        """Where the thread is, and where a signal has interrupted it. The thread of a preempted goroutine sleeps in the
        handler, on its signal stack."""
        if self.places is None:
            self.places = {}
        if thread.ptid not in self.places:
            with Visit():
                thread.switch()
                frame = gdb.newest_frame()
                found = [stack_pointer_of(frame)]
                for _ in range(FRAMES_MAX):
                    is_handler = frame.type() == gdb.SIGTRAMP_FRAME
                    frame = frame.older()
                    if frame is None:
                        break
                    if is_handler:
                        found.append(stack_pointer_of(frame))
                self.places[thread.ptid] = found
        return self.places[thread.ptid]


def is_live_here():
    """Whether the process runs on this machine, so that its clock is ours."""
    try:
        connection = gdb.selected_inferior().connection
        return connection is not None and connection.type == "native"
    except AttributeError:  # gdb before version 12
        return gdb.selected_inferior().pid != 0 and "core" not in gdb.execute("info target", to_string=True)


class Worlds:
    """The present World. It is read anew when the process has moved."""

    present = None

    @classmethod
    def get(cls):
        if cls.present is None:
            cls.present = World()
        return cls.present

    @classmethod
    def forget(cls, *_):
        cls.present = None
        Selection.leave()
        Selection.levels.clear()


# ---- frames

# The three registers that the runtime saves (arch/context.h): stack pointer, frame pointer, program counter.
REGISTERS = {"i386:x86-64": ("rsp", "rbp", "rip"), "aarch64": ("sp", "x29", "pc")}


def registers_of(architecture):
    name = architecture.name()
    found = next((names for prefix, names in REGISTERS.items() if name.startswith(prefix)), None)
    if found is None:
        raise Error("thrum does not run on " + name)
    return found


def number(value):
    return int(value) & 0xffffffffffffffff


def stack_pointer_of(frame):
    return number(frame.read_register(registers_of(frame.architecture())[0]))


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class GoroutineUnwinder(gdb.unwinder.Unwinder):
    """Says that the innermost frame of the borrowed thread was called from where a goroutine is parked."""

    def __init__(self):
        super().__init__("thrum goroutines")
        self.forget()

    def forget(self):
        """The state: the borrowed thread, its sp and pc, and the registers that are shown. None: nothing is shown."""
        self.state = None

    def show(self, saved):
        """saved: sp, frame pointer and pc of a parked goroutine."""
        frame = gdb.newest_frame()
        self.state = (gdb.selected_thread().ptid, (stack_pointer_of(frame), number(frame.pc())), saved)
        gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if self.state is None or gdb.selected_thread() is None:
            return None
        thread, borrowed, all_saved = self.state
        if gdb.selected_thread().ptid != thread:
            return None
        names = registers_of(pending.architecture())
        values = [pending.read_register(name) for name in names]
        if (number(values[0]), number(values[2])) != borrowed:
            return None
        # Below the goroutine's frames, because gdb takes a caller that is below its callee for a corrupt stack.
        info = pending.create_unwind_info(FrameId(gdb.Value(all_saved[0] - 16), gdb.Value(borrowed[1])))
        for name, value, saved in zip(names, values, all_saved):
            info.add_saved_register(name, gdb.Value(saved).cast(value.type))
        # aarch64: gdb takes the signature out of return addresses by these, which are the same in all threads.
        for name in ("pauth_dmask", "pauth_cmask"):
            try:
                info.add_saved_register(name, pending.read_register(name))
            except (ValueError, gdb.error):
                pass
        return info


class GoroutineFrames:
    """A frame filter: while a goroutine is selected, bt leaves out the frames of the borrowed thread, of the runtime
    and of the C++ library, as thrum's own dump does. bt -no-filters shows all."""

    def __init__(self):
        self.name, self.priority, self.enabled = "thrum goroutines", 100, False
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        if Selection.current() is None:
            return frames
        own = [frame for frame in frames if frame.inferior_frame().level() >= Selection.first_level]
        return iter([frame for frame in own if not is_internal(frame.inferior_frame())] or own)


class Visit:
    """Restores the selected thread and frame at its end."""

    def __enter__(self):
        self.thread = gdb.selected_thread()
        try:
            self.level = gdb.selected_frame().level()
        except gdb.error:
            self.level = 0
        return self

    def __exit__(self, *_):
        if self.thread is not None and self.thread.is_valid():
            self.thread.switch()
            select_level(self.level)


def frames(first=None):
    frame, count = first or gdb.newest_frame(), 0
    while frame is not None and count < FRAMES_MAX:
        yield frame
        frame, count = frame.older(), count + 1


def select_level(level):
    for frame in frames():
        if frame.level() == level:
            frame.select()
            return


# What says nothing about the program: by the name of the function, by its file, and by the library that it is in.
INTERNAL = re.compile(r"thrum::(rt|detail)::|thrum_|std::|__gnu_cxx::|operator new|_start$|__clone|"
                      r"start_thread")
INTERNAL_FILE = re.compile(r"/include/c\+\+/|thrum/detail/|thrum/(go|run)\.h$|"
                           r"src/thrum/(arch|base|boot|chan|core|debug|net|os|sched|stack|sync|sys|wait)/")
LIBRARIES = re.compile(r"/(libc|libpthread|ld-linux[^/]*|libthrum[^/]*|libstdc\+\+|libgcc_s)[.-]")


def without_return_type(name):
    """The name of an instance of a template begins with the type that it returns."""
    name = name[len("decltype(auto) "):] if name.startswith("decltype(auto) ") else name
    begin = at = depth = 0
    while at < len(name):
        if name.startswith("(anonymous namespace)", at):
            at += len("(anonymous namespace)")
            continue
        if depth == 0 and (name[at] == "(" or name.startswith(("operator", " [clone"), at)):
            break  # the arguments, or the rest of the name
        if depth == 0 and name[at] == " ":
            begin = at + 1
        depth += (name[at] in "<({[") - (name[at] in ">)}]")
        at += 1
    return name[begin:]


def full_name_of(frame):
    return without_return_type(frame.name() or "")


def name_of(frame):
    """Its function, without arguments. gdb calls each lambda operator(); the symbol says whose lambda it is."""
    name, function = frame.name(), frame.function()
    if name == "operator()" and function is not None and (function.linkage_name or "").startswith("_Z"):
        name = gdb.execute("demangle -- " + function.linkage_name, to_string=True).strip()
    return short(name or "")


def file_of(frame):
    line = frame.find_sal()
    return line.symtab.filename if line.symtab is not None else ""


def is_internal(frame):
    """Whether the frame belongs to the runtime or to the C++ library. Backtraces leave it out."""
    if frame.type() == gdb.SIGTRAMP_FRAME:
        return False
    return INTERNAL.match(full_name_of(frame)) is not None or INTERNAL_FILE.search(file_of(frame)) is not None


def is_of_program(frame):
    """Whether the frame belongs to the program itself, and not to thrum or a common library."""
    if frame.type() == gdb.SIGTRAMP_FRAME or is_internal(frame) or full_name_of(frame).startswith("thrum::"):
        return False
    library = gdb.solib_name(number(frame.pc()))
    return library is None or LIBRARIES.search(library) is None


def first_of_program(all_frames):
    """The innermost frame of the program itself. The callable of a goroutine may be inlined in thrum's function that
    calls it, which has its name as an argument then."""
    own = next((frame for frame in all_frames if is_of_program(frame)), None)
    own = own or next((frame for frame in all_frames if "lambda" in (frame.name() or "")), None)
    return own or (all_frames[0] if all_frames else None)


def text_of(frame):
    """'function at file:line', as far as it is known."""
    line = frame.find_sal()
    where = " at %s:%d" % (line.symtab.filename, line.line) if line.symtab is not None else ""
    return (name_of(frame) or "%#x" % number(frame.pc())) + where


def place_of(returns_to):
    """The call that returns to this address: 'function at file:line'. gdb is shown a stack with such a frame, because
    only frames tell where a function was inlined."""
    if not is_code(returns_to):
        return "%#x" % returns_to
    with Visit():
        before = UNWINDER.state
        UNWINDER.show((stack_pointer_of(gdb.newest_frame()), 0, returns_to))
        try:
            callers = []
            for frame in frames():
                if number(frame.pc()) == returns_to:
                    callers.append(frame)
                elif callers:
                    break
            return text_of(next((frame for frame in callers if not is_internal(frame)), callers[-1]))
        finally:
            UNWINDER.state = before
            gdb.invalidate_cached_frames()


def is_code(address):
    return "in section" in gdb.execute("info symbol %#x" % address, to_string=True)


def symbol_at(address):
    said = gdb.execute("info symbol %#x" % address, to_string=True)
    found = re.match(r"(.*?)(?: \+ \d+)? in section ", said)
    return short(found.group(1)) if found else "%#x" % address


def short(name):
    """Without the arguments of functions. Of a function of thrum's that calls a lambda only the lambda remains."""
    callable_in = re.match(r"thrum::.*?<(.*\{lambda[^}]*\}[^,<>]*)", name)
    if callable_in:
        name = callable_in.group(1)
    before = None
    while before != name:
        before, name = name, re.sub(r"(?<!lambda)(?<!operator)\((?!anonymous namespace\))[^()]*\)", "", name)
    return re.sub(r"(?<=[}>])::operator\(\)", "", re.sub(r" const$", "", name))


IN_PLACE = re.compile(r"\b(run_in_place|join_task)\b")  # they run a child on the stack of the goroutine that joins it


class Selection:
    """Which goroutine is selected; None: gdb's own thread is."""

    goroutine = None
    thread = None  # the thread that was selected with it
    before = None  # the Visit that leads back to what was selected before
    first_level = 0  # of its frames; those below belong to the borrowed thread
    levels = {}  # id: the level that was selected in it

    @classmethod
    def current(cls):
        """The id of the selected goroutine. The user may have selected a thread since."""
        selected = gdb.selected_thread()
        return cls.goroutine if selected is not None and selected.ptid == cls.thread else None

    @classmethod
    def enter(cls, world, g):
        """Selects g. Its frames are those from first_level on."""
        cls.leave()
        cls.before = Visit().__enter__()
        on_stack = world.innermost_on_its_stack(g)
        thread = world.thread_on_stack(on_stack)
        if thread is not None:
            thread.switch()
            cls.first_level = 0
        elif on_stack.pc != 0 and on_stack.has_stack(on_stack.sp):
            UNWINDER.show((on_stack.sp, on_stack.fp, on_stack.pc))
            cls.first_level = next((f.level() for f in frames() if number(f.pc()) == on_stack.pc), 1)
        else:
            cls.before = None
            why = "it has not started" if g.on == 0 else "its thread is not known, and it is not parked"
            raise Error("goroutine %d has no frames: %s" % (g.id, why))
        cls.goroutine, cls.thread = g.id, gdb.selected_thread().ptid
        FRAME_FILTER.enabled = True
        if g.id in cls.levels:
            select_level(cls.levels[g.id])
        else:
            cls.first_frame(world, g).select()

    @classmethod
    def frames(cls):
        return (frame for frame in frames() if frame.level() >= cls.first_level)

    @classmethod
    def first_frame(cls, world, g):
        """The innermost frame of the program; of a goroutine that joined others in place, one behind theirs."""
        all_frames = list(cls.frames())
        if g.status == "hosting":
            joins = [i for i, frame in enumerate(all_frames) if IN_PLACE.search(frame.name() or "")]
            # run_in_place may be a frame of its own, called by join_task
            calls = [i for i in joins if i + 1 not in joins]
            outer = world.nested(g).index(g)
            if len(calls) > outer:
                all_frames = all_frames[calls[-1 - outer] + 1:]
        return first_of_program(all_frames) or gdb.newest_frame()

    @classmethod
    def leave(cls):
        if cls.goroutine is None:
            return
        is_left_already = cls.current() is None
        cls.goroutine, cls.first_level = None, 0
        FRAME_FILTER.enabled = False
        is_borrowed = UNWINDER.state is not None
        UNWINDER.forget()
        if is_borrowed:
            gdb.invalidate_cached_frames()
        before, cls.before = cls.before, None
        if before is not None and not is_left_already:
            before.__exit__()

    @classmethod
    def remember_level(cls):
        try:
            cls.levels[cls.goroutine] = gdb.selected_frame().level()
        except gdb.error:
            pass


# ---- texts


def age_of(world, g):
    ns = world.now_ns - g.since_ns if g.since_ns > 0 else -1
    if ns < 0:
        return ""
    if ns >= 120e9:
        return "%d min" % (ns // 60e9)
    return "%d s" % (ns // 1e9) if ns >= 1e9 else "%d ms" % (ns // 1e6)


def state_of(world, g):
    """As in thrum's own dump, and with the object."""
    parts = [g.status]
    if g.waits():
        known = world.object_of(g)
        parts = ["waiting: " + g.reason + (" " + known if known else "")]
    elif g.status == "hosting":
        parts = ["runs goroutine %d in place" % world.innermost_on_its_stack(g).id]
    if g.is_foreign:
        parts.append("a thread from outside")
    elif g.is_locked:
        parts.append("locked to thread")
    return ", ".join(parts)


def head_of(world, g):
    age, name = age_of(world, g), " " + g.name if g.name else ""
    return "goroutine %d [%s%s]%s" % (g.id, state_of(world, g), ", " + age if age else "", name)


def created_of(world, g):
    if g.created_at == 0 or g.is_foreign:
        return ""
    if g.created_at not in world.known_places:
        world.known_places[g.created_at] = place_of(g.created_at)
    return "created by goroutine %d in %s" % (g.created_by, world.known_places[g.created_at])


class KnownStacks:
    """What function_of has found for parked goroutines, so that gdb need not unwind each of 100,000 equal stacks.

    Another goroutine that is parked at the same pc has the same stack if the return addresses of all frames are at the
    same distances from its sp."""

    ADDRESS = 0x0000ffffffffffff  # without the signature that aarch64 may put into a return address
    STACKS_MAX = 64  # that are parked at one pc

    def __init__(self):
        self.by_pc = {}

    def find(self, g):
        known = self.by_pc.get(g.pc)
        if not known:
            return None
        bytes_max = min(max(bytes_of_stack for bytes_of_stack, _, _ in known), g.top - g.sp)
        words = memoryview(read(g.sp, bytes_max & ~7)).cast("Q")
        for bytes_of_stack, returns, result in known:
            if bytes_of_stack <= bytes_max and all(words[at] & self.ADDRESS == pc for at, pc in returns):
                return result
        return None

    def add(self, g, all_frames, result):
        """Does nothing if a return address is not found, or if the stack does not end at the goroutine's entry."""
        known, returns = self.by_pc.setdefault(g.pc, []), []
        if len(known) == self.STACKS_MAX or (all_frames[-1].name() or "") != "thrum_goroutine_entry":
            return
        # gdb invents the frames of functions that ended with a call (TAILCALL_FRAME). They are not on the stack.
        places = [(stack_pointer_of(frame), number(frame.pc())) for frame in all_frames
                  if frame.type() != gdb.TAILCALL_FRAME]
        if places[-1][0] > g.top or places[0][0] != g.sp:
            return
        words = memoryview(read(g.sp, places[-1][0] - g.sp & ~7)).cast("Q")
        for (below, pc), (above, caller) in zip(places, places[1:]):
            if (below, pc) == (above, caller):  # an inlined function
                continue
            frame_words = range((below - g.sp) // 8, (above - g.sp) // 8)
            at = next((at for at in frame_words if words[at] & self.ADDRESS == caller), None)
            if at is None:
                return
            returns.append((at, caller))
        known.append((len(words) * 8, returns, result))


def function_of(world, g):
    """(the innermost function of the program, all functions)"""
    if g.on == 0 and not g.is_foreign:
        return symbol_at(g.step), ()
    is_parked = g.status in ("waiting", "runnable") and g.address not in world.m_of_current and g.has_stack(g.sp)
    known = world.known_stacks.find(g) if is_parked else None
    if known is not None:
        return known
    levels, Selection.levels = Selection.levels, {}
    try:
        Selection.enter(world, g)
    except (gdb.error, Error) as error:
        return "(%s)" % error, ()
    finally:
        Selection.levels = levels
    try:
        all_frames = list(Selection.frames())
        shown = tuple(text_of(frame) for frame in all_frames if not is_internal(frame))
        # gdb has no better name than operator() for a lambda that was inlined.
        named = (frame for frame in all_frames if is_of_program(frame) and name_of(frame) != "operator()")
        inside = gdb.selected_frame()
        if name_of(inside) == "operator()":
            inside = next((frame for frame in named if frame.level() > inside.level()), inside)
        result = (text_of(inside), shown)
        if is_parked and UNWINDER.state is not None:
            world.known_stacks.add(g, all_frames, result)
        return result
    finally:
        Selection.leave()


class KeepSelection:
    """Comes back to the goroutine or the thread that was selected."""

    def __enter__(self):
        self.goroutine = Selection.current()
        if self.goroutine is not None:
            Selection.remember_level()

    def __exit__(self, *_):
        Selection.leave()
        if self.goroutine is not None:
            Selection.enter(Worlds.get(), Worlds.get().by_id[self.goroutine])


# ---- commands


class InfoGoroutines(gdb.Command):
    """info goroutines [-g] [TEXT]
List goroutines: id, state and what it waits for, age, function, and where it was created.
With -g, goroutines with equal states and stacks are shown once, with their number.
With TEXT, only goroutines whose line contains it are shown.
The age of a wait is known exactly for mutexes. For other waits it is a lower bound, which the
runtime notes after a while."""

    def __init__(self):
        super().__init__("info goroutines", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        is_grouped, text = "-g" in words, " ".join(word for word in words if word != "-g")
        world, selected = Worlds.get(), Selection.current()
        with KeepSelection():
            if is_grouped:
                self.print_groups(world, text)
            else:
                for g in world.goroutines:
                    line = "  ".join((head_of(world, g), function_of(world, g)[0], created_of(world, g))).rstrip()
                    if text in line:
                        print("* " + line if g.id == selected else "  " + line)

    def print_groups(self, world, text):
        groups = {}
        for g in world.goroutines:
            function, stack = function_of(world, g)
            key = (g.status, g.reason if g.waits() else "", stack, g.created_at)
            groups.setdefault(key, (function, []))[1].append(g)
        by_size = sorted(groups.items(), key=lambda each: -len(each[1][1]))
        for (status, reason, stack, _), (function, members) in by_size:
            ages = [world.now_ns - g.since_ns for g in members if g.since_ns > 0]
            oldest = ", the oldest for %d s" % (max(ages) // 1e9) if ages and max(ages) >= 1e9 else ""
            out = ["%d goroutine%s [%s%s%s]  %s" % (len(members), "s" if len(members) > 1 else "", status,
                                                   ": " + reason if reason else "", oldest, function)]
            ids = " ".join(str(g.id) for g in members[:16]) + (" ..." if len(members) > 16 else "")
            out.append("    ids: " + ids)
            out += ["    " + function for function in stack]
            if created_of(world, members[0]):
                out.append("    " + created_of(world, members[0]))
            if text in "\n".join(out):
                print("\n".join(out) + "\n")


class GoroutineCommand(gdb.Command):
    """goroutine N: select goroutine N.
goroutine N COMMAND: run a command of gdb on goroutine N, for example bt, up, down, frame 3, locals, print x.
goroutine all COMMAND: run it on each goroutine.
goroutine 0: go back to the thread that was selected before.
goroutine: say which goroutine is selected.
The frame that up, down or frame selects is remembered for each goroutine."""

    SHORT = {"locals": "info locals", "args": "info args", "registers": "info registers"}

    def __init__(self):
        super().__init__("goroutine", gdb.COMMAND_STACK, gdb.COMPLETE_COMMAND)

    def invoke(self, argument, from_tty):
        which, _, command = argument.strip().partition(" ")
        command = command.strip()
        first, _, rest = command.partition(" ")
        command = (self.SHORT.get(first, first) + " " + rest).strip()
        world = Worlds.get()
        if which == "":
            selected = Selection.current()
            print("no goroutine is selected" if selected is None else head_of(world, world.by_id[selected]))
        elif which == "all":
            self.run_on_all(world, command)
        elif not which.isdigit():
            raise Error("goroutine: %s is no number of a goroutine (info goroutines lists them)" % which)
        elif which == "0":
            Selection.leave()
        elif int(which) not in world.by_id:
            raise Error("there is no goroutine %s (info goroutines lists them)" % which)
        elif command:
            with KeepSelection():
                self.run_on(world, world.by_id[int(which)], command)
        else:
            g = world.by_id[int(which)]
            print(head_of(world, g))
            Selection.enter(world, g)
            gdb.execute("frame")

    def run_on_all(self, world, command):
        if not command:
            raise Error("goroutine all: a command is missing, for example bt")
        with KeepSelection():
            for g in world.goroutines:
                print("\n" + head_of(world, g))
                try:
                    self.run_on(world, g, command)
                except (gdb.error, Error) as error:
                    print(error)

    def run_on(self, world, g, command):
        is_backtrace = re.match(r"(bt|backtrace|where)\b", command) is not None
        if is_backtrace:
            print(head_of(world, g))
            self.print_neighbours(world, g)
        Selection.enter(world, g)
        gdb.execute(command)
        Selection.remember_level()
        if is_backtrace and created_of(world, g):
            print(created_of(world, g))

    def print_neighbours(self, world, g):
        for other in world.on_stack.get(g.on, ()) if g.on else ():
            if other is not g:
                print("on the same stack, joined in place: " + head_of(world, other))


class InfoProcs(gdb.Command):
    """info procs: the Ps of thrum's scheduler, who holds them, and their run queues."""

    def __init__(self):
        super().__init__("info procs", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        world = Worlds.get()
        m_by_address = {m.address: m for m in world.ms}
        for p in world.read_ps():
            if not p.is_in_use:
                continue
            m = m_by_address.get(p.m) if p.status == "running" else None
            runs = world.by_address.get(m.current) if m is not None else None
            print("  P%-3d %-8s %-6s %-15s schedtick %-8d runs next: %-6s queue: %s" % (
                p.id, p.status, "M%d" % m.id if m is not None else "no M",
                "goroutine %d" % runs.id if runs is not None else "no goroutine", p.schedtick,
                world.id_at(p.next) if p.next else "none",
                " ".join(str(world.id_at(g)) for g in p.queued) or "empty"))
        print("  global queue: %d" % world.of_sched("global_size.entries_", "I"))


class InfoMs(gdb.Command):
    """info ms: the Ms of thrum's scheduler: their threads, what they do, and which goroutine they run."""

    def __init__(self):
        super().__init__("info ms", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        world = Worlds.get()
        p_by_address = {p.address: p for p in world.read_ps()}
        for m in world.ms:
            thread = world.thread_of(m)
            p, runs = p_by_address.get(m.p), world.by_address.get(m.current)
            notes = [m.status]
            if m.spins:
                notes.append("looks for work")
            if m.attention & world.table["m_attend.away"]:
                is_announced = not m.attention & world.table["m_attend.unannounced"]
                notes.append("in a blocking call" if is_announced else "in a system call")
            if m.is_foreign:
                notes.append("a thread from outside")
            print("  M%-3d %-10s %-14s %-5s %-15s %s" % (
                m.id, "thread %d" % thread.num if thread is not None else "no thread", "LWP %d" % m.tid,
                "P%d" % p.id if p is not None else "no P",
                "goroutine %d" % runs.id if runs is not None else "no goroutine", ", ".join(notes)))


class GcoreCommand(gdb.Command):
    """thrum-gcore FILE: write a core file of the process, with all goroutine stacks.
gcore stops to read a mapping at the first page that cannot be read, and the guards between the stacks
of goroutines cannot be read. This command calls gcore and adds what it has left out."""

    CHUNK, PAGE = 1 << 20, 4096  # gcore's, and the smallest guard

    def __init__(self):
        super().__init__("thrum-gcore", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if len(words) != 1:
            raise Error("thrum-gcore: the name of one file is missing")
        gdb.execute("gcore " + argument)
        with open(words[0], "r+b") as core:
            for offset, address, count in self.segments(core):
                self.complete(core, offset, address, count)

    def segments(self, core):
        """(offset, address, bytes) of each part of the memory in the file."""
        core.seek(0)
        head = core.read(64)
        at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        for i in range(count):
            core.seek(at + i * size)
            kind, _, offset, address, _, in_file = struct.unpack_from("<IIQQQQ", core.read(size))
            if kind == 1:  # PT_LOAD
                yield offset, address, in_file

    def complete(self, core, offset, address, count):
        is_complete = True
        for done in range(0, count, self.CHUNK):
            wanted = min(self.CHUNK, count - done)
            is_complete = is_complete and self.try_read(address + done, wanted) is not None
            for page in range(done, done + wanted, self.PAGE) if not is_complete else ():
                data = self.try_read(address + page, min(self.PAGE, count - page))
                if data is not None and data.count(0) != len(data):
                    core.seek(offset + page)
                    core.write(data)

    def try_read(self, address, count):
        try:
            return read(address, count)
        except gdb.MemoryError:
            return None


# ---- pretty printers. They are for variables of the program, so the program's own debug information is needed.


def ids(all_ids):
    listed = [str(each) for each in all_ids]
    return " ".join(listed[:16]) + (" ..." if len(listed) > 16 else "")


def pointer_in(value, *members):
    for member in members:
        value = value[member]
    return number(value.cast(gdb.lookup_type("unsigned long")))


def number_in_atomic(value):
    """The only member of an atomic, whatever the standard library calls it."""
    return int.from_bytes(read(number(value.address), value.type.sizeof), "little")


class Printer:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            return self.text(Worlds.get())
        except (gdb.error, KeyError, ValueError) as error:
            return "{%s}" % error


class MutexPrinter(Printer):
    def text(self, world):
        at = number(self.value.address)
        waiting = world.waiters_for(at, at + self.value.type.sizeof)
        is_locked = number_in_atomic(self.value["state_"]) & world.table["mutex.locked"]
        holder = world.holder_of("mutex", at)
        state = ("locked by goroutine %d" % holder.id if holder else "locked") if is_locked else "unlocked"
        return "thrum::mutex " + state + ("; waiting: " + ids(waiting) if waiting else "")


class WaitGroupPrinter(Printer):
    def text(self, world):
        at = number(self.value.address)
        count = (number_in_atomic(self.value["state_"]) & ((1 << 48) - 1)) >> 1
        waiting = world.waiters_for(at, at + self.value.type.sizeof)
        return "thrum::wait_group %d" % count + ("; waiting: " + ids(waiting) if waiting else "")


class ChannelPrinter(Printer):
    def core(self):
        return pointer_in(self.value, "core_")

    def text(self, world):
        if self.core() == 0:
            return "thrum::chan nil"
        c = world.record("channel", self.core())
        parts = ["thrum::chan %#x" % self.core(),
                 "%d of %d in the buffer" % (c.get("count", "Q"), c.get("capacity", "Q"))]
        if c.get("closed", "B"):
            parts.append("closed")
        for side in ("receivers", "senders"):
            waiting, at = [], c.get(side, "Q")
            while at != 0:
                place = world.record("channel_waiter", at)
                waiting.append(world.id_at(place.get("g", "Q")))
                at = place.get("next", "Q")
            if waiting:
                parts.append(side + " waiting: " + ids(waiting))
        return ", ".join(parts)

    def children(self):
        """The elements in the buffer, oldest first. An element that is no plain bytes is in a box."""
        try:
            world, core = Worlds.get(), self.core()
            c = world.record("channel", core) if core != 0 else None
        except (gdb.error, KeyError):
            return
        kind = self.element_type()
        if c is None or kind is None:
            return
        size = c.get("parcel_bytes", "Q")
        is_boxed = size != kind.sizeof
        for i in range(c.get("count", "Q")):
            place = core + world.table["channel"] + (c.get("head", "Q") + i) % c.get("capacity", "Q") * size
            yield "[%d]" % i, gdb.Value(u64(place) if is_boxed else place).cast(kind.pointer()).dereference()

    def element_type(self):
        kind = self.value.type.strip_typedefs()
        found = re.match(r"thrum::chan<(.*)>(::sender|::receiver)?$", kind.unqualified().tag or "")
        try:
            return kind.template_argument(0) if not found.group(2) else gdb.lookup_type(found.group(1))
        except (gdb.error, RuntimeError, AttributeError):
            return None


class ContextPrinter(Printer):
    def text(self, world):
        node = pointer_in(self.value, "node_", "node_")
        table = world.table
        owner = u64(node + table["context_node.canceled_with"]) if node != 0 else 0
        if owner == 0:
            return "thrum::context background" if node == 0 else "thrum::context that is never cancelled"
        parts = ["thrum::context %#x" % node, self.state(world, owner)]
        if read(owner + table["cancel_node.has_deadline"], 1) != b"\0":
            left_ns = struct.unpack("<q", read(owner + table["cancel_node.deadline"], 8))[0] - world.now_ns
            parts.append("deadline in %.3f s" % (left_ns / 1e9) if left_ns >= 0 else
                         "deadline %.3f s ago" % (-left_ns / 1e9))
        return ", ".join(parts)

    def state(self, world, owner):
        table = world.table
        state = read(owner + table["cancel_node.state"], 1)[0]
        is_done = state == table["done_state.done"]
        if state == table["done_state.channel"]:
            is_done = world.record("channel", u64(owner + table["cancel_node.done_channel"])).get("closed", "B") != 0
        if not is_done:
            return "open"
        reason = u64(owner + table["cancel_node.reason"])
        error = struct.unpack("<i", read(reason + table["cancel_reason.error"], 4))[0] if reason != 0 else 0
        return "deadline exceeded" if error == table["context_errc.deadline_exceeded"] else "cancelled"


def pretty_printers():
    found = gdb.printing.RegexpCollectionPrettyPrinter("thrum")
    found.add_printer("mutex", r"^thrum::mutex$", MutexPrinter)
    found.add_printer("wait_group", r"^thrum::wait_group$", WaitGroupPrinter)
    found.add_printer("chan", r"^thrum::chan<.*>(::sender|::receiver)?$", ChannelPrinter)
    found.add_printer("context", r"^thrum::context$", ContextPrinter)
    return found


# gdb may load the script twice: by hand, and by itself for a library or a program.
UNWINDER = GoroutineUnwinder()
FRAME_FILTER = GoroutineFrames()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)
gdb.printing.register_pretty_printer(None, pretty_printers(), replace=True)
for command in (InfoGoroutines, GoroutineCommand, InfoProcs, InfoMs, GcoreCommand):
    command()
for event in ("cont", "exited", "new_objfile", "memory_changed", "register_changed"):
    getattr(gdb.events, event).connect(Worlds.forget)
