package main

import "sync"

// The tasks of these workloads are all started ones; the caller only waits.
var channelWorkloads = []workload{
	{"pingpong", one("ns/round trip", func() float64 { return nsPerUnit(pingpong, 50_000, 500_000) })},
	{"chan_spsc", one("ns/item", func() float64 { return nsPerUnit(oneToOne, 500_000, 5_000_000) })},
	{"chan_mpmc", one("ns/item", func() float64 { return nsPerUnit(manyToMany, 200_000, 2_000_000) })},
	{"chan_ring", one("ns/hop", func() float64 { return nsPerUnit(ring, 100, 1_000) })},
	{"select", one("ns/item", func() float64 { return nsPerUnit(selectOfFour, 25_000, 250_000) })},
}

const channelCapacity = 128

func pingpong(roundTrips int) int {
	ping, pong := make(chan int), make(chan int)
	var ended sync.WaitGroup
	ended.Add(2)
	go func() {
		for ball := range ping {
			pong <- ball + 1
		}
		ended.Done()
	}()
	last := 0
	go func() {
		for i := 0; i < roundTrips; i++ {
			ping <- last
			last = <-pong
		}
		close(ping)
		ended.Done()
	}()
	ended.Wait()
	check("the ball", last, roundTrips)
	return roundTrips
}

// stream sends 0 .. itemsEach-1 from every producer over one channel and checks the sum that the consumers saw.
func stream(producers, consumers, itemsEach int) int {
	items := make(chan int, channelCapacity)
	var produced, consumed sync.WaitGroup
	produced.Add(producers)
	consumed.Add(consumers)
	for p := 0; p < producers; p++ {
		go func() {
			for i := 0; i < itemsEach; i++ {
				items <- i
			}
			produced.Done()
		}()
	}
	sums := make([]int, consumers)
	for c := 0; c < consumers; c++ {
		c := c
		go func() {
			sum := 0
			for item := range items {
				sum += item
			}
			sums[c] = sum
			consumed.Done()
		}()
	}
	produced.Wait()
	close(items)
	consumed.Wait()
	total := 0
	for _, sum := range sums {
		total += sum
	}
	check("the sum of the items", total, producers*(itemsEach*(itemsEach-1)/2))
	return producers * itemsEach
}

func oneToOne(items int) int   { return stream(1, 1, items) }
func manyToMany(items int) int { return stream(8, 8, items/8) }

// ring passes one token round; the first task sends before it receives, the others after.
func ring(laps int) int {
	const tasks = 1_000
	var links [tasks]chan int
	for i := range links {
		links[i] = make(chan int)
	}
	var ended sync.WaitGroup
	ended.Add(tasks)
	for i := 1; i < tasks; i++ {
		in, out := links[i-1], links[i]
		go func() {
			for lap := 0; lap < laps; lap++ {
				out <- <-in + 1
			}
			ended.Done()
		}()
	}
	token := 0
	go func() {
		for lap := 0; lap < laps; lap++ {
			links[0] <- token
			token = <-links[tasks-1] + 1
		}
		ended.Done()
	}()
	ended.Wait()
	check("the token", token, tasks*laps)
	return token
}

func selectOfFour(itemsEach int) int {
	var lanes [4]chan int
	var ended sync.WaitGroup
	ended.Add(len(lanes) + 1)
	for l := range lanes {
		lane := make(chan int)
		lanes[l] = lane
		go func() {
			for i := 0; i < itemsEach; i++ {
				lane <- i
			}
			ended.Done()
		}()
	}
	sum := 0
	go func() {
		for i := 0; i < len(lanes)*itemsEach; i++ {
			select {
			case item := <-lanes[0]:
				sum += item
			case item := <-lanes[1]:
				sum += item
			case item := <-lanes[2]:
				sum += item
			case item := <-lanes[3]:
				sum += item
			}
		}
		ended.Done()
	}()
	ended.Wait()
	check("the sum of the items", sum, len(lanes)*(itemsEach*(itemsEach-1)/2))
	return len(lanes) * itemsEach
}
