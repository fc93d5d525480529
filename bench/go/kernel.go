package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var kernelWorkloads = []workload{
	{"blocking", blocking},
	{"unannounced", blocking}, // Go announces every call by itself
	{"hog", hog},
	{"cpu_bound", one("ms", computeInTurns)},
	{"syscall", one("ns/call", announcedCall)},
	{"idle", one("% CPU", nearlyIdle)},
}

// blockInTurns runs 64 tasks in the kernel, ten times 10 ms each, and one beside them that counts its turns.
func blockInTurns() (wallMs, yields float64) {
	const tasks, callsEach = 64, 10
	var callers sync.WaitGroup
	var over atomic.Bool
	counted := make(chan int64)
	go func() {
		var n int64
		for ; !over.Load(); n++ {
			runtime.Gosched()
		}
		counted <- n
	}()
	wallMs = nanosecondsOf(func() {
		callers.Add(tasks)
		for i := 0; i < tasks; i++ {
			go func() {
				for c := 0; c < callsEach; c++ {
					length := syscall.NsecToTimespec((10 * time.Millisecond).Nanoseconds())
					syscall.Nanosleep(&length, nil)
				}
				callers.Done()
			}()
		}
		callers.Wait()
	}) / 1e6
	over.Store(true)
	return wallMs, float64(<-counted)
}

func blocking() []figure {
	blockInTurns()
	wallMs := make([]float64, rounds)
	yields := make([]float64, rounds)
	for r := range wallMs {
		wallMs[r], yields[r] = blockInTurns()
	}
	return []figure{{"", quantile(wallMs, 0.5), "ms"}, {"_yields", quantile(yields, 0.5), "yields"}}
}

// hog tells how late one is that sleeps 1 ms again and again, beside another that computes for 2 s without a call.
func hog() []figure {
	var over atomic.Bool
	ended := make(chan bool)
	go func() {
		for !over.Load() {
		}
		ended <- true
	}()
	var lateMs []float64
	for start := time.Now(); time.Since(start) < 2*time.Second; {
		until := time.Now().Add(time.Millisecond)
		time.Sleep(time.Millisecond)
		lateMs = append(lateMs, float64(time.Since(until).Nanoseconds())/1e6)
	}
	over.Store(true)
	<-ended
	return []figure{{"", quantile(lateMs, 0.5), "ms"}, {"_worst", quantile(lateMs, 1), "ms"}}
}

// Knuth's linear congruential generator (MMIX): each step needs the last one's result, so no compiler shortens the
// loop.
const (
	lcgFactor uint64 = 6364136223846793005
	lcgAddend uint64 = 1442695040888963407
)

// lcgAfter tells what so many steps come to, by doubling.
func lcgAfter(x uint64, steps int) uint64 {
	factor, addend := lcgFactor, lcgAddend
	for ; steps != 0; steps >>= 1 {
		if steps&1 != 0 {
			x = factor*x + addend
		}
		factor, addend = factor*factor, factor*addend+addend
	}
	return x
}

// computeInTurns runs two tasks for each P, which compute and call nothing.
func computeInTurns() float64 {
	const rounds = 100_000_000
	results := make([]uint64, 2*runtime.GOMAXPROCS(0))
	wallNs := nanosecondsOf(func() {
		var all sync.WaitGroup
		for i := range results {
			all.Add(1)
			go func(result *uint64, x uint64) {
				for r := 0; r < rounds; r++ {
					x = lcgFactor*x + lcgAddend
				}
				*result = x
				all.Done()
			}(&results[i], uint64(i))
		}
		all.Wait()
	})
	for i, result := range results {
		check("the last number of the generator", int(result), int(lcgAfter(uint64(i), rounds)))
	}
	return wallNs / 1e6
}

// announcedCall tells what announcing a short call costs: beside the bare call, in the same rounds.
func announcedCall() float64 {
	const warmUp, calls = 10_000, 1_000_000
	announced := func(times int) int {
		for i := 0; i < times; i++ {
			syscall.Syscall(syscall.SYS_GETPPID, 0, 0, 0)
		}
		return times
	}
	bare := func(times int) int {
		for i := 0; i < times; i++ {
			syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
		}
		return times
	}
	return nsPerUnit(announced, warmUp, calls) - nsPerUnit(bare, warmUp, calls)
}

func nearlyIdle() float64 {
	start := time.Now()
	cpu := cpuNanosecondsOf(func() {
		for time.Since(start) < 5*time.Second {
			time.Sleep(time.Millisecond)
		}
	})
	return 100 * cpu / float64(time.Since(start).Nanoseconds())
}
