// The bench program on Go: the yardstick that thrum is measured against.
//
//	bench <workload> <procs>    prints "<figure> <procs> <value> <unit>", a line per figure
//	bench --list                the workloads it knows, one per line
//	bench --about               what it was built with
//	bench --serve-http <procs>  the server of the workload http
//	bench pq <procs>            for bench/harness/pq.py, which starts the server: not in the list
//
// bench/README.md defines the workloads. The C++ programs do the same work in the same order; a change here needs its
// twin there, or the ratios compare two different things.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/trace"
	"strconv"
)

// figure is one result. Most workloads have one, which bears the workload's name; further ones add a suffix to it.
type figure struct {
	suffix string
	value  float64
	unit   string
}

type workload struct {
	name    string
	measure func() []figure
}

// one is for the workloads with a single figure.
func one(unit string, measure func() float64) func() []figure {
	return func() []figure { return []figure{{"", measure(), unit}} }
}

var workloads = concat(taskWorkloads, channelWorkloads, pipelineWorkloads, timeWorkloads, kernelWorkloads,
	pauseWorkloads, networkWorkloads)

func concat(themes ...[]workload) (all []workload) {
	for _, theme := range themes {
		all = append(all, theme...)
	}
	return all
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
	if len(os.Args) == 3 && os.Args[1] == "--serve-http" {
		serveHTTP(os.Args[2])
	}
	if len(os.Args) != 3 {
		fail(2, "usage: bench <workload> <procs> | --list | --about")
	}
	procs, err := strconv.Atoi(os.Args[2])
	if err != nil || procs < 1 {
		fail(2, "procs must be a whole number of at least 1, not %q", os.Args[2])
	}
	for _, w := range append(workloads, workload{"pq", measurePQ}) {
		if w.name == os.Args[1] {
			runtime.GOMAXPROCS(procs)
			for _, f := range traced(w.measure) {
				fmt.Printf("%s%s %d %.3f %s\n", w.name, f.suffix, procs, f.value, f.unit)
			}
			return
		}
	}
	fail(2, "unknown workload %q; --list shows those there are", os.Args[1])
}

// traced measures with Go's tracer on if BENCH_TRACING names a file: for bench/harness/tracing.py.
func traced(measure func() []figure) []figure {
	name := os.Getenv("BENCH_TRACING")
	if name == "" {
		return measure()
	}
	file, err := os.Create(name)
	if err == nil {
		err = trace.Start(file)
	}
	if err != nil {
		fail(1, "trace to %s: %v", name, err)
	}
	figures := measure()
	trace.Stop()
	if err := file.Close(); err != nil {
		fail(1, "trace to %s: %v", name, err)
	}
	return figures
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
