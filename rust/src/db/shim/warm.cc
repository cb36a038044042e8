// What it takes to bring a database's files into memory: which there are and how much of each finds a row,
// a file's index and filter in the block cache, a part of a file in the page cache. When and how much is
// Rust's business.
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "c_api.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table_properties.h"

// Mirrored in ffi_warm.rs.
struct ferrostate_live_table {
  const char* path;
  size_t path_size;
  uint64_t size;
  uint64_t number;
  uint64_t finding;
  int32_t level;
};

extern "C" {

// Hands each table file of the column family to `visit`, without reading from any: with `finding`, the
// bytes of its index and filter, for those whose blocks another reader of the file puts into the cache
// under the same keys (files of RocksDB 6.20 do not have such keys), else 0.
void ferrostate_live_tables(rocksdb_t* db, rocksdb_column_family_handle_t* column, bool with_finding,
                            void (*visit)(void*, const ferrostate_live_table*), void* visitor,
                            char** error) {
  ferrostate::Fenced<int>(error, 0, [&] {
    ROCKSDB_NAMESPACE::TablePropertiesCollection properties;
    if (with_finding) {
      ROCKSDB_NAMESPACE::Status status =
          db->rep->GetPropertiesOfAllTables(column->rep, &properties);
      if (!status.ok()) {
        ferrostate::Fail(error, status);
        return 0;
      }
    }
    ROCKSDB_NAMESPACE::ColumnFamilyMetaData described;
    db->rep->GetColumnFamilyMetaData(column->rep, &described);
    for (const auto& level : described.levels) {
      for (const auto& file : level.files) {
        const std::string path = file.directory + "/" + file.relative_filename;
        uint64_t finding = 0;
        const auto found = properties.find(path);
        if (found != properties.end() && !found->second->db_session_id.empty() &&
            found->second->orig_file_number != 0) {
          finding = found->second->index_size + found->second->filter_size;
        }
        const ferrostate_live_table table{path.data(), path.size(),      file.size,
                                          file.file_number, finding, level.level};
        visit(visitor, &table);
      }
    }
    return 0;
  });
}

// Opens the file as the database would after a compaction: all of its index and filter get into the
// block cache of the options. False and no text if there is no such file any more.
bool ferrostate_load_finding(const rocksdb_options_t* options, const char* path, size_t path_size,
                             char** error) {
  return ferrostate::Fenced(error, false, [&] {
    ROCKSDB_NAMESPACE::SstFileReader reader(options->rep);
    ROCKSDB_NAMESPACE::Status status = reader.Open(std::string(path, path_size));
    if (!status.ok() && !status.IsPathNotFound()) {
      ferrostate::Fail(error, status);
    }
    return status.ok();
  });
}

// Tells the kernel that this part of the open file will be read, and does not wait.
void ferrostate_read_ahead(int file, uint64_t offset, uint64_t length) {
#ifdef POSIX_FADV_WILLNEED
  (void)posix_fadvise(file, static_cast<off_t>(offset), static_cast<off_t>(length),
                      POSIX_FADV_WILLNEED);
#else
  (void)file, (void)offset, (void)length;
#endif
}

// Tells the kernel to guess nothing about what will be read from the open file.
void ferrostate_no_guessing(int file) {
#ifdef POSIX_FADV_RANDOM
  (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
#else
  (void)file;
#endif
}

}  // extern "C"
