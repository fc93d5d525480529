package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
)

// A TCP echo server on loopback, under the load of the fixed client (bench/echo_client).
var networkWorkloads = []workload{
	{"echo", func() []figure { return echoWith(100) }},
	{"echo_5000", func() []figure { return echoWith(5000) }},
}

const echoLoadS = 3

func answer(conn net.Conn) {
	defer conn.Close()
	bytes := make([]byte, 4096)
	for {
		n, err := conn.Read(bytes)
		if err != nil {
			return
		}
		if _, err := conn.Write(bytes[:n]); err != nil {
			return
		}
	}
}

func serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go answer(conn)
	}
}

// runClient fails on a wrong answer, an error or a connection that was never served.
func runClient(port, connections int) (requestsPerS, p50us, p99us float64) {
	client := os.Getenv("BENCH_ECHO_CLIENT")
	if client == "" {
		fail(2, "BENCH_ECHO_CLIENT must name the program bench_echo_client")
	}
	said, err := exec.Command("taskset", "-c", "0", client, "127.0.0.1", strconv.Itoa(port), strconv.Itoa(connections),
		"64", strconv.Itoa(echoLoadS)).Output()
	if err != nil {
		fail(1, "the client: %v", err)
	}
	fields, _ := fmt.Sscanf(string(said), "%f requests/s  p50 %f  p99 %f", &requestsPerS, &p50us, &p99us)
	check("figures of the client", fields, 3)
	return
}

func echoWith(connections int) []figure {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(1, "listen: %v", err)
	}
	go serve(listener)
	var perSecond, p50, p99 float64
	cpu := cpuNanosecondsOf(func() {
		perSecond, p50, p99 = runClient(listener.Addr().(*net.TCPAddr).Port, connections)
	})
	listener.Close()
	requests := perSecond * echoLoadS * 1.1 // the client's warm-up is a tenth of its load
	return []figure{
		{"", perSecond / 1e3, "k requests/s"},
		{"_p50", p50, "us"},
		{"_p99", p99, "us"},
		{"_cpu", cpu / 1e3 / requests, "us CPU/request"},
	}
}
