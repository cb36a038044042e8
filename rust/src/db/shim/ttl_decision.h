// What a compaction does with one stored value of a state with a time to live: the whole semantics of
// the filter, without RocksDB. Bytes in, decision out; when in doubt a value is kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "element_layout.h"

namespace ferrostate {

enum class TtlKind : int32_t {
  kDisabled = 0,
  kValue = 1,  // timestamp, value
  kMap = 2,    // null flag, timestamp, value
  kList = 3,   // timestamp, element, ',', timestamp, element ...
};

struct TtlConfig {
  TtlKind kind = TtlKind::kDisabled;
  int64_t ttl_millis = 0;
  // Entries between two looks at the clock.
  int64_t query_time_after = 0;
  // Of a list's elements, behind their timestamps.
  ElementLayout layout;
};

struct TtlDecision {
  enum Action : int32_t { kKeep = 0, kRemove = 1, kCut = 2 };

  Action action = kKeep;
  // kCut: the first byte of what stays.
  size_t from = 0;
};

bool Expired(int64_t last_access, int64_t ttl_millis, int64_t now);

TtlDecision Decide(const TtlConfig& config, int64_t now, bool is_operand, const uint8_t* value,
                   size_t length);

}  // namespace ferrostate
