package main

import (
	"sync"
	"time"
)

var timeWorkloads = []workload{
	{"sleep", one("ns CPU/sleep", cpuPerSleep)},
	{"sleep_many", sleepOnce},
	{"wake", wakeParked},
	{"wake_busy", wakeWhileBusy},
}

func cpuPerSleep() float64 {
	const tasks, sleepsEach = 100_000, 10
	sleepInTurns(tasks/10, sleepsEach)
	return medianOfRounds(func() float64 {
		return cpuNanosecondsOf(func() { sleepInTurns(tasks, sleepsEach) }) / (tasks * sleepsEach)
	})
}

func sleepInTurns(tasks, sleepsEach int) {
	var ended sync.WaitGroup
	ended.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			for s := 0; s < sleepsEach; s++ {
				time.Sleep(time.Millisecond)
			}
			ended.Done()
		}()
	}
	ended.Wait()
}

const longestSleep = time.Second

// sleepOnce tells how much later than its longest sleeper the crowd is through, and what the sleeps cost.
func sleepOnce() []figure {
	const tasks = 1_000_000
	sleepInCrowd(tasks / 10)
	late := make([]float64, rounds)
	cpu := make([]float64, rounds)
	for r := range late {
		cpu[r] = cpuNanosecondsOf(func() {
			elapsed := nanosecondsOf(func() { sleepInCrowd(tasks) })
			late[r] = (elapsed - float64(longestSleep.Nanoseconds())) / 1e6
		}) / tasks
	}
	return []figure{{"", quantile(late, 0.5), "ms late"}, {"_cpu", quantile(cpu, 0.5), "ns CPU/sleep"}}
}

func sleepInCrowd(tasks int) {
	var ended sync.WaitGroup
	ended.Add(tasks)
	for i := 0; i < tasks; i++ {
		length := time.Duration(mixed(uint64(i))%uint64(longestSleep/time.Microsecond)) * time.Microsecond
		go func() {
			time.Sleep(length)
			ended.Done()
		}()
	}
	ended.Wait()
}

// mixed scatters neighbouring numbers (the finishing steps of splitmix64): every runtime sleeps the same lengths.
func mixed(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

const wakePeriod = 200 * time.Microsecond

// wakeParked tells how long a message needs to a parked task, and the pace at which the sender really got round to it.
// One round: its thousands of messages are their own repetition.
func wakeParked() []figure {
	sendForWhile(200 * time.Millisecond)
	delays, intervals := sendForWhile(2 * time.Second)
	return []figure{
		{"", quantile(delays, 0.5), "us"},
		{"_p99", quantile(delays, 0.99), "us"},
		{"_pace", quantile(intervals, 0.5), "us/message"},
	}
}

func sendForWhile(length time.Duration) (delaysUs, intervalsUs []float64) {
	messages := make(chan time.Time)
	delaysUs = make([]float64, 0, length/wakePeriod)
	intervalsUs = make([]float64, 0, length/wakePeriod)
	var ended sync.WaitGroup
	ended.Add(2)
	go func() {
		var previous time.Time
		for sent := range messages {
			delaysUs = append(delaysUs, float64(time.Since(sent).Nanoseconds())/1e3)
			if len(delaysUs) > 1 {
				intervalsUs = append(intervalsUs, float64(sent.Sub(previous).Nanoseconds())/1e3)
			}
			previous = sent
		}
		ended.Done()
	}()
	go func() {
		for start := time.Now(); time.Since(start) < length; {
			time.Sleep(wakePeriod)
			messages <- time.Now()
		}
		close(messages)
		ended.Done()
	}()
	ended.Wait()
	return delaysUs, intervalsUs
}

// wakeWhileBusy tells how long a message needs to a parked task while its sender goes on to compute after each of them.
func wakeWhileBusy() []figure {
	sendAndComputeForWhile(200 * time.Millisecond)
	delays := sendAndComputeForWhile(2 * time.Second)
	return []figure{
		{"", quantile(delays, 0.5), "us"},
		{"_p99", quantile(delays, 0.99), "us"},
		{"_worst", quantile(delays, 1), "us"},
	}
}

func sendAndComputeForWhile(length time.Duration) (delaysUs []float64) {
	const computation = time.Millisecond
	messages := make(chan time.Time)
	delaysUs = make([]float64, 0, length/computation+1)
	var ended sync.WaitGroup
	ended.Add(2)
	go func() {
		for sent := range messages {
			delaysUs = append(delaysUs, float64(time.Since(sent).Nanoseconds())/1e3)
		}
		ended.Done()
	}()
	go func() {
		for start := time.Now(); time.Since(start) < length; {
			sent := time.Now()
			messages <- sent
			for time.Since(sent) < computation {
			}
		}
		close(messages)
		ended.Done()
	}()
	ended.Wait()
	return delaysUs
}
