package main

import (
	"runtime"
	"sync"
)

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

// bytesPerParkedTask measures once, in a fresh process: a second round would find the memory of the first.
func bytesPerParkedTask() float64 {
	const tasks = 1_000_000
	before := residentBytes()
	gate := make(chan struct{})
	var arrived, ended sync.WaitGroup
	arrived.Add(tasks)
	ended.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			arrived.Done()
			<-gate
			ended.Done()
		}()
	}
	arrived.Wait()
	grown := residentBytes() - before
	close(gate)
	ended.Wait()
	return float64(grown) / tasks
}
