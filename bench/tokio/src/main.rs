//! The bench program on tokio: the echo server, a task per connection, on its multi-threaded scheduler with a worker
//! per P.
use std::env;
use std::process::{exit, Command};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

const LOAD_S: f64 = 3.0;
const WORKLOADS: [(&str, usize); 2] = [("echo", 100), ("echo_5000", 5_000)]; // and their connections

// Ends the program: a figure for wrong work is worth nothing.
fn fail(status: i32, why: &str) -> ! {
    eprintln!("bench: {why}");
    exit(status);
}

async fn answer(mut connection: TcpStream) {
    let mut bytes = [0u8; 4096];
    loop {
        match connection.read(&mut bytes).await {
            Ok(n) if n > 0 => {
                if connection.write_all(&bytes[..n]).await.is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

async fn serve(listener: TcpListener) {
    while let Ok((connection, _)) = listener.accept().await {
        if connection.set_nodelay(true).is_err() {
            return; // as the others do by themselves
        }
        tokio::spawn(answer(connection));
    }
}

// Requests per second, the median of the latencies and their 99th percentile. The client fails on a wrong answer, an
// error or a connection that was never served.
fn run_client(port: u16, connections: usize) -> [f64; 3] {
    let client = env::var("BENCH_ECHO_CLIENT")
        .unwrap_or_else(|_| fail(2, "BENCH_ECHO_CLIENT must name the program bench_echo_client"));
    let load = [client, "127.0.0.1".into(), port.to_string(), connections.to_string(), "64".into(), LOAD_S.to_string()];
    let done = Command::new("taskset")
        .args(["-c", "0"])
        .args(load)
        .output()
        .unwrap_or_else(|error| fail(1, &format!("the client: {error}")));
    let said = String::from_utf8_lossy(&done.stdout);
    if !done.status.success() {
        fail(1, &format!("the client: {}: {said}", done.status));
    }
    // `<value> requests/s  p50 <value>  p99 <value> ...`
    let words: Vec<&str> = said.split_whitespace().collect();
    let figures: Vec<f64> = [0, 3, 5].iter().filter_map(|&at| words.get(at)?.parse().ok()).collect();
    figures.try_into().unwrap_or_else(|_| fail(1, &format!("the client's figures are not in {said:?}")))
}

// As many descriptors as the system allows: 5,000 connections are more than the usual limit.
fn allow_many_files() {
    let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // Safe: both calls are given a whole rlimit, and keep no reference to it.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut files);
        files.rlim_cur = files.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &files);
    }
}

// Of all threads of this process.
fn cpu_us() -> f64 {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Safe: it is given a whole timespec, and keeps no reference to it.
    if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut used) } != 0 {
        fail(1, "cannot read the CPU time of the process");
    }
    used.tv_sec as f64 * 1e6 + used.tv_nsec as f64 / 1e3
}

// As run_client, and the CPU time per request.
fn echo_with(procs: usize, connections: usize) -> [f64; 4] {
    allow_many_files();
    let runtime = Builder::new_multi_thread()
        .worker_threads(procs)
        .enable_io()
        .build()
        .unwrap_or_else(|error| fail(1, &format!("the runtime: {error}")));
    let (listener, port) = runtime
        .block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let port = listener.local_addr()?.port();
            Ok::<_, std::io::Error>((listener, port))
        })
        .unwrap_or_else(|error| fail(1, &format!("listen: {error}")));
    runtime.spawn(serve(listener));
    let before_us = cpu_us();
    let [per_second, p50, p99] = run_client(port, connections); // on this thread, which is no worker
    let used_us = cpu_us() - before_us;
    runtime.shutdown_background();
    let requests = per_second * LOAD_S * 1.1; // the client's warm-up is a tenth of its load
    [per_second, p50, p99, used_us / requests]
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => WORKLOADS.iter().for_each(|(name, _)| println!("{name}")),
        ["--about"] => println!("{}", env!("BENCH_ABOUT")), // the versions, as the harness found them
        [name, procs] => {
            let &(_, connections) = WORKLOADS
                .iter()
                .find(|known| known.0 == name)
                .unwrap_or_else(|| fail(2, &format!("unknown workload {name:?}; --list shows those there are")));
            let procs = match procs.parse() {
                Ok(procs) if procs >= 1 => procs,
                _ => fail(2, &format!("procs must be a whole number of at least 1, not {procs:?}")),
            };
            let [requests, p50, p99, cpu] = echo_with(procs, connections);
            println!("{name} {procs} {:.3} k requests/s", requests / 1e3);
            println!("{name}_p50 {procs} {p50:.3} us");
            println!("{name}_p99 {procs} {p99:.3} us");
            println!("{name}_cpu {procs} {cpu:.3} us CPU/request");
        }
        _ => fail(2, "usage: bench <workload> <procs> | --list | --about"),
    }
}
