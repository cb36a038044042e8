// After a failed flush the database stays failed: RocksDB must not try to recover by itself. The
// recovery flushes through the same queue in which a stalled writer may stand that waits for that flush;
// both then wait for ever (11.8.1; found by FullDiskTest). Flink restores a failed task elsewhere anyway.
#include <memory>

#include "c_api.h"
#include "rocksdb/listener.h"

namespace {

class NoRecovery final : public ROCKSDB_NAMESPACE::EventListener {
 public:
  // Called for a disk without space, whose recovery no option turns off.
  void OnErrorRecoveryBegin(ROCKSDB_NAMESPACE::BackgroundErrorReason,
                            ROCKSDB_NAMESPACE::Status error, bool* automatic) override {
    error.PermitUncheckedError();
    *automatic = false;
  }
};

}  // namespace

extern "C" {

bool ferrostate_options_no_recovery(rocksdb_options_t* options, char** error) {
  return ferrostate::Fenced(error, false, [&] {
    options->rep.listeners.push_back(std::make_shared<NoRecovery>());
    options->rep.max_bgerror_resume_count = 0;
    return true;
  });
}

}  // extern "C"
