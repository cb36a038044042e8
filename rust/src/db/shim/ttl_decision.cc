// See ttl_decision.h; the semantics are those of FRocksDB's filter (flink-compatibility D3).
#include "ttl_decision.h"

#include <algorithm>
#include <limits>

namespace ferrostate {

namespace {

constexpr size_t kTimestampBytes = 8;
constexpr size_t kMapOffset = 1;
constexpr uint8_t kDelimiter = ',';

// Java's writeLong.
int64_t Timestamp(const uint8_t* at) {
  uint64_t bits = 0;
  for (size_t i = 0; i < kTimestampBytes; i++) {
    bits = bits << 8 | at[i];
  }
  return static_cast<int64_t>(bits);
}

TtlDecision DecideValue(const TtlConfig& config, int64_t now, size_t offset, const uint8_t* value,
                        size_t length) {
  if (length < offset + kTimestampBytes ||
      !Expired(Timestamp(value + offset), config.ttl_millis, now)) {
    return {};
  }
  return {TtlDecision::kRemove, 0};
}

// Cuts off the expired elements in front. Flink's filter skips the byte between elements blindly; here
// any other byte than the delimiter tells that the layout does not fit, and all is kept.
TtlDecision DecideList(const TtlConfig& config, int64_t now, const uint8_t* value, size_t length) {
  Bytes bytes(value, length);
  size_t live = 0;
  for (;;) {
    if (bytes.left() < kTimestampBytes) {
      return {};
    }
    if (!Expired(Timestamp(bytes.at()), config.ttl_millis, now)) {
      return live == 0 ? TtlDecision{} : TtlDecision{TtlDecision::kCut, live};
    }
    bytes.Skip(kTimestampBytes);
    if (!config.layout.Skip(bytes)) {
      return {};
    }
    if (bytes.left() == 0) {
      return {TtlDecision::kRemove, 0};
    }
    uint8_t between = 0;
    bytes.Byte(&between);
    if (between != kDelimiter) {
      return {};
    }
    live = length - bytes.left();
  }
}

}  // namespace

bool Expired(int64_t last_access, int64_t ttl_millis, int64_t now) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t ttl = last_access > 0 ? std::min(kNever - last_access, ttl_millis) : ttl_millis;
  return last_access + ttl <= now;
}

TtlDecision Decide(const TtlConfig& config, int64_t now, bool is_operand, const uint8_t* value,
                   size_t length) {
  switch (config.kind) {
    case TtlKind::kDisabled:
      return {};
    case TtlKind::kValue:
      return is_operand ? TtlDecision{} : DecideValue(config, now, 0, value, length);
    case TtlKind::kMap:
      return is_operand ? TtlDecision{} : DecideValue(config, now, kMapOffset, value, length);
    case TtlKind::kList:
      return DecideList(config, now, value, length);
  }
  return {};
}

}  // namespace ferrostate
