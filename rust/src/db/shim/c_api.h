// What every file of the shim needs at its border: RocksDB's C handles as C++ objects, and a fence that
// no exception passes. No feature stands here.
#pragma once

#include <cstdlib>
#include <cstring>
#include <exception>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"

// RocksDB's c.h only declares these structs. The definitions are c.cc's, word for word: their members may
// be used here because both see the same headers (build.rs, docs/decisions/0004).
struct rocksdb_options_t {
  ROCKSDB_NAMESPACE::Options rep;
};
struct rocksdb_t {
  ROCKSDB_NAMESPACE::DB* rep;
};
struct rocksdb_column_family_handle_t {
  ROCKSDB_NAMESPACE::ColumnFamilyHandle* rep;
  bool immortal;
};

namespace ferrostate {

// Leaves the text where Rust takes and frees it, as RocksDB's own C API does.
inline void Fail(char** error, const char* text) noexcept {
  if (error != nullptr && *error == nullptr) {
    *error = strdup(text);
  }
}

inline void Fail(char** error, const ROCKSDB_NAMESPACE::Status& status) noexcept {
  try {
    Fail(error, status.ToString().c_str());
  } catch (...) {
    Fail(error, "out of memory");
  }
}

// Runs what may throw; Rust only ever sees `otherwise` and a text.
template <typename R, typename Body>
R Fenced(char** error, R otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& e) {
    Fail(error, e.what());
  } catch (...) {
    Fail(error, "unknown C++ exception");
  }
  return otherwise;
}

}  // namespace ferrostate
