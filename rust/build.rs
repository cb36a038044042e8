//! Link settings only: libstdc++ inside the library, never unmapped, and where the fast lane's
//! RocksDB is found.
use std::path::PathBuf;
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
