package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var pauseWorkloads = []workload{
	{"pauses", resizeUnderLoad},
}

// resizeUnderLoad changes the number of Ps, which stops the world, beside loops that call nothing and tasks that allocate.
func resizeUnderLoad() []figure {
	const resizes = 1_000
	procs := runtime.GOMAXPROCS(0)
	end := startLoad(procs)
	us := make([]float64, 0, resizes)
	for i := 0; i < resizes/10; i++ {
		stopOnce(procs + (i+1)%2)
	}
	for i := 0; i < resizes; i++ {
		us = append(us, stopOnce(procs+(i+1)%2))
	}
	end()
	return []figure{{"", quantile(us, 0.5), "us"}, {"_p99", quantile(us, 0.99), "us"}, {"_max", quantile(us, 1), "us"}}
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

// computeForAMoment takes some 100 us, without a call: when its slice ends it is paused here, and not in the call that is measured.
func computeForAMoment() {
	for i := 0; i < 200_000; i++ {
		computed += i
	}
}
