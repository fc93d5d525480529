package main

import (
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Odd, so that the median is one of the rounds.
const rounds = 5

func medianOfRounds(round func() float64) float64 {
	values := make([]float64, rounds)
	for i := range values {
		values[i] = round()
	}
	return quantile(values, 0.5)
}

// quantile sorts the values; 1 is the largest.
func quantile(values []float64, part float64) float64 {
	sort.Float64s(values)
	at := int(part * float64(len(values)))
	if at == len(values) {
		at--
	}
	return values[at]
}

func nanosecondsOf(work func()) float64 {
	start := time.Now() // carries the monotonic clock
	work()
	return float64(time.Since(start).Nanoseconds())
}

// nsPerUnit times work, which does its job at a size and answers how many units that was.
func nsPerUnit(work func(size int) int, warmUpSize, size int) float64 {
	work(warmUpSize)
	return medianOfRounds(func() float64 {
		units := 0
		elapsed := nanosecondsOf(func() { units = work(size) })
		return elapsed / float64(units)
	})
}

// msOf times work that is one thing as a whole.
func msOf(work func(size int), warmUpSize, size int) float64 {
	work(warmUpSize)
	return medianOfRounds(func() float64 { return nanosecondsOf(func() { work(size) }) / 1e6 })
}

// cpuNanosecondsOf counts all threads of the process, also the collector's.
func cpuNanosecondsOf(work func()) float64 {
	before := processCPU()
	work()
	return float64(processCPU() - before)
}

func processCPU() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		fail(1, "cannot read the CPU time: %v", err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// residentBytes reads the second field of statm, the resident pages.
func residentBytes() int {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		fail(1, "cannot read the resident size: %v", err)
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		fail(1, "/proc/self/statm is %q, which has no resident size", statm)
	}
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		fail(1, "/proc/self/statm is %q: %v", statm, err)
	}
	return pages * os.Getpagesize()
}
