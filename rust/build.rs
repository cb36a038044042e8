//! Compiles the C++ shim (src/db/shim) and sets how all is linked: libstdc++ inside the library, never
//! unmapped, and where the fast lane's RocksDB is found.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=ROCKSDB_LIB_DIR");
    println!("cargo:rerun-if-env-changed=ROCKSDB_STATIC");
    let shared_rocksdb =
        env::var("ROCKSDB_LIB_DIR").ok().filter(|_| env::var_os("ROCKSDB_STATIC").is_none());
    println!(
        "cargo:rustc-env=FERROSTATE_LINK={}",
        if shared_rocksdb.is_some() { "fast" } else { "static" }
    );
    if let Some(dir) = shared_rocksdb {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    } else if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        link_libstdcxx_statically().expect("c++ -print-file-name=libstdc++.a gives the archive");
    }
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The JVM unloads a library with its class loader; our threads would run in unmapped code.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    compile_shim().expect("the C++ shim in src/db/shim can be read");
}

/// All `.cc` files of the shim, against the headers of the very RocksDB that is linked.
fn compile_shim() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src/db/shim");
    let mut files: Vec<PathBuf> = fs::read_dir("src/db/shim")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cc"));
    files.sort();
    prefer_ccache();
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .files(files)
        .include("src/db/shim")
        // RocksDB's own warnings are not ours.
        .flag("-isystem")
        .flag(rocksdb_headers().to_str().expect("a path in UTF-8"))
        // The allocator and lookup keys of memtables, for memtable_rep.cc.
        .flag("-isystem")
        .flag(rocksdb_headers().join("..").to_str().expect("a path in UTF-8"))
        // The fast lane's RocksDB has no type information for our classes to refer to.
        .flag("-fno-rtti")
        .flag("-fvisibility=hidden")
        .define("NDEBUG", None)
        .warnings_into_errors(true)
        // librocksdb-sys links it, after us.
        .cpp_link_stdlib(None)
        .compile("ferrostate_shim");
    Ok(())
}

/// librocksdb-sys tells its dependents where it lies; `ROCKSDB_INCLUDE_DIR` is the crate's own switch.
fn rocksdb_headers() -> PathBuf {
    println!("cargo:rerun-if-env-changed=ROCKSDB_INCLUDE_DIR");
    env::var_os("ROCKSDB_INCLUDE_DIR").map_or_else(
        || {
            let sources = env::var_os("DEP_ROCKSDB_CARGO_MANIFEST_DIR")
                .expect("librocksdb-sys 0.19 prints cargo_manifest_dir");
            Path::new(&sources).join("rocksdb/include")
        },
        PathBuf::from,
    )
}

/// Unless somebody chose a compiler: several lanes, clones and lints compile the same few files.
fn prefer_ccache() {
    let chosen = ["CXX", "TARGET_CXX", "HOST_CXX"].iter().any(|name| env::var_os(name).is_some());
    let works = || Command::new("ccache").arg("--version").output().is_ok();
    if !chosen && works() {
        env::set_var("CXX", "ccache c++");
    }
}

/// `-static-libstdc++` has no effect on a cdylib; a search folder that holds only the archive has.
fn link_libstdcxx_statically() -> io::Result<()> {
    let out = Command::new(env::var("CXX_PLAIN").unwrap_or_else(|_| "c++".into()))
        .arg("-print-file-name=libstdc++.a")
        .output()?;
    let archive = fs::canonicalize(String::from_utf8_lossy(&out.stdout).trim())?;
    let dir = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?).join("stdcxx");
    fs::create_dir_all(&dir)?;
    let link = dir.join("libstdc++.a");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(archive, link)?;
    println!("cargo:rustc-link-search=native={}", dir.display());
    Ok(())
}
