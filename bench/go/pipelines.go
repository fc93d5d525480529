package main

import "sync"

var pipelineWorkloads = []workload{
	{"sieve", one("ms", func() float64 { return msOf(sieve, 150, 1_500) })},
	{"skynet", one("ms", func() float64 { return msOf(skynet, 100_000, 1_000_000) })},
}

// primes[n] is the n-th prime: where the sieve's numbers end, so that its tasks can end too.
var primes = map[int]int{150: 863, 1_500: 12_553}

// sieve sends the numbers from 2 through a chain of filters, one task per prime.
func sieve(count int) {
	limit := primes[count]
	numbers := make(chan int)
	var ended sync.WaitGroup
	ended.Add(2)
	go func() {
		for n := 2; n <= limit; n++ {
			numbers <- n
		}
		close(numbers)
		ended.Done()
	}()
	found, last := 0, 0
	go func() {
		in := numbers
		for {
			prime, more := <-in
			if !more {
				break
			}
			found, last = found+1, prime
			out := make(chan int)
			ended.Add(1)
			go filter(in, out, prime, &ended)
			in = out
		}
		ended.Done()
	}()
	ended.Wait()
	check("the count of primes", found, count)
	check("the last prime", last, limit)
}

func filter(in <-chan int, out chan<- int, prime int, ended *sync.WaitGroup) {
	for n := range in {
		if n%prime != 0 {
			out <- n
		}
	}
	close(out)
	ended.Done()
}

// skynetNode answers the sum of its leaves' numbers, which begin at first.
func skynetNode(answer chan<- int, first, leaves int) {
	if leaves == 1 {
		answer <- first
		return
	}
	const children = 10
	sums := make(chan int)
	for child := 0; child < children; child++ {
		go skynetNode(sums, first+child*(leaves/children), leaves/children)
	}
	sum := 0
	for child := 0; child < children; child++ {
		sum += <-sums
	}
	answer <- sum
}

func skynet(leaves int) {
	answer := make(chan int)
	go skynetNode(answer, 0, leaves)
	check("the sum of the leaves", <-answer, leaves*(leaves-1)/2)
}
