// Imports table files as a column family from a description of them, and compacts a range under a flag
// that ends it: two things RocksDB's C API cannot do in full. What is imported and why is Rust's business.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "c_api.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"

namespace {

using ROCKSDB_NAMESPACE::Slice;

struct Bytes {
  const char* data;
  size_t size;
  std::string str() const { return std::string(data, size); }
};

}  // namespace

// Mirrored in ffi_import.rs.
struct ferrostate_table_file {
  uint64_t number;
  uint64_t size;
  int32_t level;
  uint64_t epoch;
  uint64_t smallest_seqno;
  uint64_t largest_seqno;
  Bytes name;
  Bytes smallest;
  Bytes largest;
};

struct ferrostate_part {
  Bytes directory;
  const ferrostate_table_file* files;
  size_t count;
};

namespace {

ROCKSDB_NAMESPACE::LiveFileMetaData Described(const ferrostate_part& part,
                                              const ferrostate_table_file& file,
                                              const std::string& column) {
  ROCKSDB_NAMESPACE::LiveFileMetaData described;
  described.column_family_name = column;
  described.level = file.level;
  described.relative_filename = file.name.str();
  described.name = "/" + described.relative_filename;
  described.directory = described.db_path = part.directory.str();
  described.file_number = file.number;
  described.size = file.size;
  described.smallest_seqno = file.smallest_seqno;
  described.largest_seqno = file.largest_seqno;
  described.epoch_number = file.epoch;
  described.smallest = file.smallest.str();
  described.largest = file.largest.str();
  // Only the user's part of an internal key.
  described.smallestkey = described.smallest.substr(0, described.smallest.size() - 8);
  described.largestkey = described.largest.substr(0, described.largest.size() - 8);
  return described;
}

}  // namespace

extern "C" {

// Moves the files into the database as the new column family `name`: hard links, then the names in the
// parts' directories go. Null and a text on failure.
rocksdb_column_family_handle_t* ferrostate_import(rocksdb_t* db, const rocksdb_options_t* options,
                                                  Bytes name, const ferrostate_part* parts,
                                                  size_t count, char** error) {
  return ferrostate::Fenced<rocksdb_column_family_handle_t*>(error, nullptr, [&] {
    std::vector<ROCKSDB_NAMESPACE::ExportImportFilesMetaData> described(count);
    std::vector<const ROCKSDB_NAMESPACE::ExportImportFilesMetaData*> pointers;
    for (size_t n = 0; n < count; n++) {
      described[n].db_comparator_name = options->rep.comparator->Name();
      for (size_t file = 0; file < parts[n].count; file++) {
        described[n].files.push_back(Described(parts[n], parts[n].files[file], name.str()));
      }
      pointers.push_back(&described[n]);
    }
    ROCKSDB_NAMESPACE::ImportColumnFamilyOptions moving;
    moving.move_files = true;
    auto handle = std::make_unique<rocksdb_column_family_handle_t>();
    handle->rep = nullptr;
    handle->immortal = false;
    ROCKSDB_NAMESPACE::Status status = db->rep->CreateColumnFamilyWithImport(
        options->rep, name.str(), moving, pointers, &handle->rep);
    if (!status.ok()) {
      ferrostate::Fail(error, status);
      return static_cast<rocksdb_column_family_handle_t*>(nullptr);
    }
    return handle.release();
  });
}

// Compacts the files that have keys in [from, to], down to the last level they are in. A `from` without
// data is no limit, nor is such a `to`.
void ferrostate_compact_range(rocksdb_t* db, rocksdb_column_family_handle_t* column, Bytes from,
                              Bytes to, std::atomic<bool>* canceled, char** error) {
  ferrostate::Fenced<int>(error, 0, [&] {
    ROCKSDB_NAMESPACE::CompactRangeOptions options;
    options.exclusive_manual_compaction = false;
    options.bottommost_level_compaction =
        ROCKSDB_NAMESPACE::BottommostLevelCompaction::kForceOptimized;
    options.canceled = canceled;
    const Slice first(from.data, from.size);
    const Slice last(to.data, to.size);
    ROCKSDB_NAMESPACE::Status status =
        db->rep->CompactRange(options, column->rep, from.data == nullptr ? nullptr : &first,
                              to.data == nullptr ? nullptr : &last);
    if (!status.ok()) {
      ferrostate::Fail(error, status);
    }
    return 0;
  });
}

}  // extern "C"
