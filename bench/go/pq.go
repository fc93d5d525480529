package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pqConnections = 500
	pqWarmUp      = 500 * time.Millisecond
	pqLoad        = 3 * time.Second
	pqBuffer      = 16 << 10 // as libpq's
)

// postgres is a connection to a server that trusts us: the startup and the simple queries of its protocol, version 3.
type postgres struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
	body []byte
}

func connectPostgres(path string) *postgres {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fail(1, "connect: %v", err)
	}
	p := &postgres{conn: conn, in: bufio.NewReaderSize(conn, pqBuffer), out: make([]byte, 0, pqBuffer)}
	p.out = append(p.out, 0, 0, 0, 0, 0, 3, 0, 0) // the length, to be filled in, and the version
	p.out = append(p.out, "user\x00thrum\x00database\x00postgres\x00\x00"...)
	binary.BigEndian.PutUint32(p.out, uint32(len(p.out)))
	p.send()
	p.untilReady()
	return p
}

func (p *postgres) send() {
	if _, err := p.conn.Write(p.out); err != nil {
		fail(1, "write: %v", err)
	}
}

func (p *postgres) ask(query string) string {
	p.out = append(p.out[:0], 'Q', 0, 0, 0, 0)
	p.out = append(p.out, query...)
	p.out = append(p.out, 0)
	binary.BigEndian.PutUint32(p.out[1:], uint32(len(p.out)-1)) // all but the kind
	p.send()
	return p.untilReady()
}

// untilReady answers with the first column of the last row.
func (p *postgres) untilReady() (value string) {
	for {
		switch kind := p.receive(); kind {
		case 'E':
			fail(1, "the server says %q", p.body)
		case 'R':
			if code := binary.BigEndian.Uint32(p.body); code != 0 {
				fail(1, "the server wants authentication of kind %d", code)
			}
		case 'D': // how many columns, and for each its length and itself
			length := binary.BigEndian.Uint32(p.body[2:])
			value = string(p.body[6 : 6+length])
		case 'Z':
			return value
		}
	}
}

// receive reads one message: its kind, and p.body.
func (p *postgres) receive() byte {
	var head [5]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		fail(1, "read: %v", err)
	}
	length := int(binary.BigEndian.Uint32(head[1:])) - 4
	if cap(p.body) < length {
		p.body = make([]byte, length)
	}
	p.body = p.body[:length]
	if _, err := io.ReadFull(p.in, p.body); err != nil {
		fail(1, "read: %v", err)
	}
	return head[0]
}

// pqCounter has a line of the cache for itself, so that counting costs nothing.
type pqCounter struct {
	queries int64
	_       [56]byte
}

// measurePQ is bench/pq/load.h in Go.
func measurePQ() []figure {
	path := os.Getenv("BENCH_PQ_SOCKET")
	if path == "" {
		fail(2, "BENCH_PQ_SOCKET does not say where the server is: run it by bench/run.py")
	}
	counters := make([]pqCounter, pqConnections)
	sum := func() (all int64) {
		for i := range counters {
			all += atomic.LoadInt64(&counters[i].queries)
		}
		return all
	}
	var connected, ended sync.WaitGroup
	connected.Add(pqConnections)
	ended.Add(pqConnections)
	begin := make(chan struct{})
	var over int32
	before := residentBytes()
	for i := 0; i < pqConnections; i++ {
		go func(i int) {
			defer ended.Done()
			client := connectPostgres(path)
			defer client.conn.Close()
			want := strconv.Itoa(i)
			query := "select " + want
			ask := func() {
				if got := client.ask(query); got != want {
					fail(1, "%s: %q", query, got)
				}
			}
			ask()
			connected.Done()
			<-begin
			for atomic.LoadInt32(&over) == 0 {
				ask()
				atomic.AddInt64(&counters[i].queries, 1)
			}
		}(i)
	}
	connected.Wait()
	grown := residentBytes() - before
	close(begin)
	time.Sleep(pqWarmUp)
	asked := sum()
	var elapsed float64
	cpu := cpuNanosecondsOf(func() { elapsed = nanosecondsOf(func() { time.Sleep(pqLoad) }) })
	queries := float64(sum() - asked)
	atomic.StoreInt32(&over, 1)
	ended.Wait()
	return []figure{
		{"", queries / elapsed * 1e6, "k queries/s"},
		{"_cpu", cpu / 1e3 / queries, "us CPU/query"},
		{"_memory", float64(grown) / 1024 / pqConnections, "KiB/connection"},
	}
}
