package main

import (
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Odd, so that the median is one of the rounds.
const rounds = 5

func medianOfRounds(round func() float64) float64 {
	values := make([]float64, rounds)
	for i := range values {
		values[i] = round()
	}
	sort.Float64s(values)
	return values[rounds/2]
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
