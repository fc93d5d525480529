package main

import "sync"

const (
	sumLength = 64 << 20 // doubles: 512 MiB, far more than any cache
	sumParts  = 4096
)

//go:noinline
func sumOf(numbers []float64) float64 {
	sum := 0.0
	for _, number := range numbers {
		sum += number
	}
	return sum
}

func sumInTasks(numbers []float64) float64 {
	var partial [sumParts]float64
	var ended sync.WaitGroup
	ended.Add(sumParts)
	length := len(numbers) / sumParts
	for part := 0; part < sumParts; part++ {
		part := part
		go func() {
			partial[part] = sumOf(numbers[part*length : (part+1)*length])
			ended.Done()
		}()
	}
	ended.Wait()
	return sumOf(partial[:])
}

// parallelSumSpeedUp compares with one thread of the same program, so that the compilers' loops cancel out.
func parallelSumSpeedUp() float64 {
	numbers := make([]float64, sumLength)
	for i := range numbers {
		numbers[i] = 1
	}
	sumInTasks(numbers[:sumLength/10/sumParts*sumParts])
	return medianOfRounds(func() float64 {
		var alone, together float64
		aloneNs := nanosecondsOf(func() { alone = sumOf(numbers) })
		togetherNs := nanosecondsOf(func() { together = sumInTasks(numbers) })
		check("the sum of one thread", int(alone), sumLength)
		check("the sum of the tasks", int(together), sumLength)
		return aloneNs / togetherNs
	})
}
