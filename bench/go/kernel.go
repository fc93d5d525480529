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
