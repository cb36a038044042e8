// Keys of a memtable as RocksDB encodes them: how they are read, compared and hashed. The comparator is the
// bytewise one, which `memtable_rep.cc` makes sure of. No structure stands here.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "rocksdb/slice.h"

namespace ferrostate {

static_assert(std::endian::native == std::endian::little, "RocksDB's tags are read as they stand");

inline uint64_t Load64(const char* from) {
  uint64_t value;
  memcpy(&value, from, sizeof(value));
  return value;
}

inline uint32_t Load32(const char* from) {
  uint32_t value;
  memcpy(&value, from, sizeof(value));
  return value;
}

inline const char* Varint32(const char* from, uint32_t* value) {
  uint32_t result = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    result |= static_cast<uint32_t>(byte & 127) << shift;
    if (byte < 128) {
      *value = result;
      return from;
    }
  }
}

// A user's key and a sequence number. Of two with the same user's key the newer one comes first.
struct MemKey {
  const char* data;
  size_t size;
  uint64_t sequence;

  static MemKey OfInternal(const ROCKSDB_NAMESPACE::Slice& key) {
    return {key.data(), key.size() - 8, Load64(key.data() + key.size() - 8) >> 8};
  }

  // What a memtable holds: length, key, tag, and behind that length and value.
  static MemKey OfEntry(const char* entry) {
    uint32_t length;
    const char* key = Varint32(entry, &length);
    return OfInternal({key, length});
  }

  bool SameUserKey(const MemKey& other) const {
    return size == other.size && memcmp(data, other.data, size) == 0;
  }

  // Eight bytes from there on as a number that compares as they do; zeros where there are none.
  uint64_t Front(size_t from = 0) const {
    uint64_t front = 0;
    if (from + 8 <= size) {
      front = Load64(data + from);
    } else if (from < size) {
      memcpy(&front, data + from, size - from);
    }
    return __builtin_bswap64(front);
  }

  uint32_t Hash() const {
    const char* at = data;
    size_t left = size;
    uint64_t hash = 0x9E3779B97F4A7C15 + left;
    for (; left > 8; left -= 8, at += 8) {
      hash = Mixed(hash ^ Load64(at), 0xA0761D6478BD642F);
    }
    uint64_t tail = 0;
    if (left >= 4) {
      tail = Load32(at) | static_cast<uint64_t>(Load32(at + left - 4)) << 32;
    } else if (left > 0) {
      memcpy(&tail, at, left);
    }
    hash = Mixed(hash ^ tail, 0xE7037ED1A0B428DB);
    return static_cast<uint32_t>(hash ^ hash >> 32);
  }

 private:
  static uint64_t Mixed(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
};

inline int Compare(const MemKey& a, const MemKey& b) {
  const int order = memcmp(a.data, b.data, std::min(a.size, b.size));
  if (order != 0) {
    return order;
  }
  if (a.size != b.size) {
    return a.size < b.size ? -1 : 1;
  }
  return a.sequence == b.sequence ? 0 : a.sequence > b.sequence ? -1 : 1;
}

}  // namespace ferrostate
