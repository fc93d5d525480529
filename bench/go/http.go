package main

import (
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
)

// serveHTTP is the server of the workload `http`, which bench/harness/http.py puts under load: it answers until it is
// killed.
func serveHTTP(procs string) {
	count, err := strconv.Atoi(procs)
	if err != nil || count < 1 {
		fail(2, "procs must be a whole number of at least 1, not %q", procs)
	}
	runtime.GOMAXPROCS(count)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(1, "listen: %v", err)
	}
	hello := []byte("Hello, World!")
	http.HandleFunc("/plaintext", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(hello)
	})
	fmt.Printf("serving on %s\n", listener.Addr())
	fail(1, "serve: %v", http.Serve(listener, nil))
}
