package main

import "sync"

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
