package main

import (
	"runtime"
	"sync"
)

var taskWorkloads = []workload{
	{"spawn", one("ns/task", func() float64 { return nsPerUnit(spawnInBatches, 100_000, 1_000_000) })},
	// Trees grow by powers: depth 15 is an eighth of depth 18, fib(22) an eleventh of fib(27).
	{"spawn_deep", one("ns/task", func() float64 { return nsPerUnit(spawnTree, 15, 18) })},
	{"fib", one("ns/task", func() float64 { return nsPerUnit(forkJoinFib, 22, 27) })},
	{"yield", one("ns/yield", func() float64 { return nsPerUnit(yieldInPair, 100_000, 1_000_000) })},
	{"yield_many", one("ns/yield", func() float64 { return nsPerUnit(yieldInCrowd, 10, 100) })},
	{"mutex", one("ns/op", func() float64 { return nsPerUnit(lockInTurns, 1_000, 10_000) })},
	{"memory", one("bytes/task", bytesPerParkedTask)},
	{"parallel_sum", one("speed-up", parallelSumSpeedUp)},
}

const spawnBatch = 10_000

func spawnInBatches(tasks int) int {
	for started := 0; started < tasks; started += spawnBatch {
		var batch sync.WaitGroup
		batch.Add(spawnBatch)
		for i := 0; i < spawnBatch; i++ {
			go func() { batch.Done() }()
		}
		batch.Wait()
	}
	return tasks
}

func growTree(depth int) {
	if depth == 0 {
		return
	}
	var children sync.WaitGroup
	children.Add(2)
	for i := 0; i < 2; i++ {
		go func() {
			growTree(depth - 1)
			children.Done()
		}()
	}
	children.Wait()
}

// spawnTree counts every task it spawned: all nodes but the root, which is its caller.
func spawnTree(depth int) int {
	growTree(depth)
	return 1<<(depth+1) - 2
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	var smaller int
	var joined sync.WaitGroup
	joined.Add(1)
	go func() {
		smaller = fib(n - 1)
		joined.Done()
	}()
	smallest := fib(n - 2)
	joined.Wait()
	return smaller + smallest
}

// forkJoinFib counts its spawns: one for every call with n >= 2, which makes fib(n+1) - 1 of them.
func forkJoinFib(n int) int {
	value, next := 0, 1
	for i := 0; i < n; i++ {
		value, next = next, value+next
	}
	check("fib", fib(n), value)
	return next - 1
}

func yieldFrom(tasks, yieldsEach int) int {
	var ended sync.WaitGroup
	ended.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			for y := 0; y < yieldsEach; y++ {
				runtime.Gosched()
			}
			ended.Done()
		}()
	}
	ended.Wait()
	return tasks * yieldsEach
}

func yieldInPair(yieldsEach int) int  { return yieldFrom(2, yieldsEach) }
func yieldInCrowd(yieldsEach int) int { return yieldFrom(10_000, yieldsEach) }

func lockInTurns(locksEach int) int {
	const tasks = 100
	var lock sync.Mutex
	counter := 0
	var ended sync.WaitGroup
	ended.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			for n := 0; n < locksEach; n++ {
				lock.Lock()
				counter++
				lock.Unlock()
			}
			ended.Done()
		}()
	}
	ended.Wait()
	check("the counter under the mutex", counter, tasks*locksEach)
	return counter
}
