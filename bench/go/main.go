// The bench program on Go: the yardstick that thrum is measured against.
//
//	bench <workload> <procs>    prints "<workload> <procs> <value> <unit>"
//	bench --list                the workloads it knows, one per line
//	bench --about               what it was built with
//
// bench/README.md defines the workloads. The C++ programs do the same work in the same order; a change here needs its
// twin there, or the ratios compare two different things.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

type workload struct {
	name    string
	unit    string
	measure func() float64
}

var workloads = []workload{
	{"spawn", "ns/task", func() float64 { return nsPerUnit(spawnInBatches, 100_000, 1_000_000) }},
	// Trees grow by powers: depth 15 is an eighth of depth 18, fib(22) an eleventh of fib(27).
	{"spawn_deep", "ns/task", func() float64 { return nsPerUnit(spawnTree, 15, 18) }},
	{"fib", "ns/task", func() float64 { return nsPerUnit(forkJoinFib, 22, 27) }},
	{"yield", "ns/yield", func() float64 { return nsPerUnit(yieldInPair, 100_000, 1_000_000) }},
	{"yield_many", "ns/yield", func() float64 { return nsPerUnit(yieldInCrowd, 10, 100) }},
	{"mutex", "ns/op", func() float64 { return nsPerUnit(lockInTurns, 1_000, 10_000) }},
	{"memory", "bytes/task", bytesPerParkedTask},
	{"parallel_sum", "speed-up", parallelSumSpeedUp},
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--list" {
		for _, w := range workloads {
			fmt.Println(w.name)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "--about" {
		fmt.Println(runtime.Version())
		return
	}
	if len(os.Args) != 3 {
		fail(2, "usage: bench <workload> <procs> | --list | --about")
	}
	procs, err := strconv.Atoi(os.Args[2])
	if err != nil || procs < 1 {
		fail(2, "procs must be a whole number of at least 1, not %q", os.Args[2])
	}
	for _, w := range workloads {
		if w.name == os.Args[1] {
			runtime.GOMAXPROCS(procs)
			fmt.Printf("%s %d %.3f %s\n", w.name, procs, w.measure(), w.unit)
			return
		}
	}
	fail(2, "unknown workload %q; --list shows those there are", os.Args[1])
}

func fail(status int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
	os.Exit(status)
}

// check ends the program when the work came out wrong: a figure for wrong work is worth nothing.
func check(what string, got, want int) {
	if got != want {
		fail(1, "%s is %d, should be %d", what, got, want)
	}
}
