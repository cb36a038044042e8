//! The Rust side of the door without a JVM: what a checked handle and `catch_unwind` cost. Times are
//! CPU time of the thread, so that a busy machine does not change them much.
use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use ferrostate_bench_door::without_jvm::{caught, Handle, Plain};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

struct ThreadCpu;

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Measurement for ThreadCpu {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        now()
    }

    fn end(&self, start: u64) -> u64 {
        now() - start
    }

    fn add(&self, a: &u64, b: &u64) -> u64 {
        a + b
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "ns"
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str {
        "ns"
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ns"
    }
}

fn handles(criterion: &mut Criterion<ThreadCpu>) {
    let mut group = criterion.benchmark_group("handle");
    let plain = Plain::open();
    group.bench_function("none (a reference)", |b| b.iter(|| black_box(&plain).use_once()));

    let handle = Handle::open().expect("room");
    group.bench_function("slab", |b| b.iter(|| black_box(handle).use_once()));

    let map = HashMap::from([(7_i64, Arc::new(Plain::open()))]);
    let mutex = Mutex::new(map);
    group.bench_function("Mutex of a map of Arcs", |b| {
        b.iter(|| {
            let entry = mutex.lock().expect("no panic").get(&black_box(7)).cloned();
            entry.is_some_and(|entry| entry.use_once())
        });
    });
    let shared = RwLock::new(mutex.into_inner().expect("no panic"));
    group.bench_function("RwLock of a map of Arcs", |b| {
        b.iter(|| {
            let entry = shared.read().expect("no panic").get(&black_box(7)).cloned();
            entry.is_some_and(|entry| entry.use_once())
        });
    });
    group.bench_function("slab, open and close", |b| {
        b.iter(|| Handle::open().is_some_and(Handle::close));
    });
    handle.close();
    group.finish();
}

fn guard(criterion: &mut Criterion<ThreadCpu>) {
    let mut group = criterion.benchmark_group("guard");
    let plain = Plain::open();
    group.bench_function("none", |b| b.iter(|| black_box(&plain).use_once()));
    group.bench_function("catch_unwind", |b| b.iter(|| caught(|| black_box(&plain).use_once())));
    group.finish();
}

fn configuration() -> Criterion<ThreadCpu> {
    Criterion::default()
        .with_measurement(ThreadCpu)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(700))
        .sample_size(20)
        .without_plots()
}

criterion_group! { name = door; config = configuration(); targets = handles, guard }
criterion_main!(door);
