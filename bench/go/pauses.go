package main

import (
	"math"
	"math/bits"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

var pauseWorkloads = []workload{
	{"pauses", resizeUnderLoad},
}

// resizeUnderLoad changes the number of Ps, which stops the world, beside loops that call nothing and tasks that
// allocate.
func resizeUnderLoad() []figure {
	const resizes = 1_000
	procs := runtime.GOMAXPROCS(0)
	end := startLoad(procs)
	us := make([]float64, 0, resizes)
	for i := 0; i < resizes/10; i++ {
		stopOnce(procs + (i+1)%2)
	}
	stoppingBefore, stoppedBefore := readPauses()
	for i := 0; i < resizes; i++ {
		us = append(us, stopOnce(procs+(i+1)%2))
	}
	stopping, stopped := readPauses()
	end()
	stopping.subtract(stoppingBefore)
	stopped.subtract(stoppedBefore)
	check("the number of pauses", stopped.count(), resizes)
	return []figure{
		{"", quantile(us, 0.5), "us"},
		{"_p99", quantile(us, 0.99), "us"},
		{"_max", quantile(us, 1), "us"},
		{"_stopping", stopping.quantile(0.5), "us"},
		{"_stopping_p99", stopping.quantile(0.99), "us"},
		{"_stopped", stopped.quantile(0.5), "us"},
		{"_stopped_p99", stopped.quantile(0.99), "us"},
	}
}

// pauses counts how long they took: [i] at least 2^(i-1) ns and less than 2^i, as thrum's histogram does.
type pauses [65]int

// readPauses tells how long it took until all had stopped, and until they were started again; pauses for the collector
// are not among them.
func readPauses() (stopping, stopped pauses) {
	samples := []metrics.Sample{
		{Name: "/sched/pauses/stopping/other:seconds"},
		{Name: "/sched/pauses/total/other:seconds"},
	}
	metrics.Read(samples)
	return pausesOf(samples[0]), pausesOf(samples[1])
}

// pausesOf folds Go's buckets, each of which lies between two powers of two.
func pausesOf(sample metrics.Sample) (folded pauses) {
	if sample.Value.Kind() != metrics.KindFloat64Histogram {
		fail(1, "this Go has no metric %s: 1.22 and later have", sample.Name)
	}
	histogram := sample.Value.Float64Histogram()
	for i, count := range histogram.Counts {
		atLeastNs := math.Max(0, math.Round(1e9*histogram.Buckets[i]))
		folded[bits.Len64(uint64(atLeastNs))] += int(count)
	}
	return folded
}

func (p *pauses) subtract(earlier pauses) {
	for i := range p {
		p[i] -= earlier[i]
	}
}

func (p *pauses) count() (sum int) {
	for _, here := range p {
		sum += here
	}
	return sum
}

// quantile tells within how many us this part of them was over. Between two powers of two a straight line is as good a
// guess as any.
func (p *pauses) quantile(part float64) float64 {
	wanted := part * float64(p.count())
	below := 0.0
	for i, count := range p {
		here := float64(count)
		if here > 0 && below+here >= wanted {
			from, to := math.Floor(math.Ldexp(1, i-1)), math.Ldexp(1, i)
			return (from + (to-from)*(wanted-below)/here) / 1e3
		}
		below += here
	}
	fail(1, "no pause was counted")
	return 0
}

func startLoad(procs int) (end func()) {
	var stop atomic.Bool
	var ended sync.WaitGroup
	ended.Add(2 * procs)
	for i := 0; i < procs; i++ {
		go func() {
			for !stop.Load() {
			}
			ended.Done()
		}()
		go func() {
			var kept [64][]byte
			for n := 0; !stop.Load(); n++ {
				kept[n%len(kept)] = make([]byte, 64+n%4096)
			}
			ended.Done()
		}()
	}
	return func() {
		stop.Store(true)
		ended.Wait()
	}
}

func stopOnce(procs int) (us float64) {
	start := time.Now()
	runtime.GOMAXPROCS(procs)
	us = float64(time.Since(start).Nanoseconds()) / 1e3
	computeForAMoment()
	return us
}

var computed int

// computeForAMoment takes some 100 us, without a call: when its slice ends it is paused here, and not in the call that
// is measured.
func computeForAMoment() {
	for i := 0; i < 200_000; i++ {
		computed += i
	}
}
