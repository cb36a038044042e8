// The entries of a memtable in the order they came, in chunks of the memtable's arena; found by numbers of 32
// bits. One writer, any number of readers; nothing moves or goes before the memtable does.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "memory/allocator.h"
#include "memtable_key.h"

namespace ferrostate {

// Where an entry stands: number of the chunk and eighths of the offset in it. 0 is none.
using Place = uint32_t;

class MemLog {
 public:
  explicit MemLog(ROCKSDB_NAMESPACE::Allocator* allocator) : allocator_(allocator) {}

  // Room for the next entry. What is not published is given out anew.
  char* Allocate(size_t length) {
    pending_size_ = (kHeader + length + 7) / 8;
    if (pending_size_ > kLarge) {
      pending_ = static_cast<Place>(AddChunk(pending_size_ + 1) * kChunk + 1);
    } else {
      if (end_ + pending_size_ > limit_) {
        chunk_size_ = std::max(std::min(chunk_size_ * 2, kChunk), pending_size_ + 1);
        chunk_ = AddChunk(chunk_size_);
        end_ = 1;
        limit_ = chunk_size_;
      }
      pending_ = static_cast<Place>(chunk_ * kChunk + end_);
    }
    return const_cast<char*>(Entry(pending_));
  }

  // The entry is written: walks may come by.
  Place Publish() {
    const uint32_t chunk = pending_ / kChunk;
    const uint32_t end = static_cast<uint32_t>(pending_ % kChunk + pending_size_);
    if (chunk == chunk_) {
      end_ = end;
    }
    Used(Base(chunk)).store(end, std::memory_order_release);
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return pending_;
  }

  const char* Entry(Place place) const { return Node(place) + kHeader; }

  // The place of the version before, of the same key; 0: none. Written before the place is given to readers
  // that ask for it.
  Place Older(Place place) const { return Load32(Node(place)); }
  void SetOlder(Place place, Place older) {
    memcpy(Node(place), &older, sizeof(older));
  }

  size_t count() const { return count_.load(std::memory_order_acquire); }

  // Calls `visit` with each place that `seen` (used eighths of each chunk) does not know, and notes it there.
  template <class Visit>
  void Walk(std::vector<uint32_t>* seen, Visit&& visit) const {
    const uint32_t chunks = chunks_.load(std::memory_order_acquire);
    seen->resize(chunks, 1);
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
      const uint32_t end = Used(Base(chunk)).load(std::memory_order_acquire);
      uint32_t& at = (*seen)[chunk];
      while (at < end) {
        const Place place = static_cast<Place>(chunk * kChunk + at);
        visit(place);
        at += Size(place);
      }
    }
  }

 private:
  // In eighths of a byte count, as all sizes here.
  static constexpr size_t kChunk = 4096;
  static constexpr size_t kFirstChunk = 64;
  // From here on an entry has a chunk to itself.
  static constexpr size_t kLarge = 512;
  // Bytes in front of an entry.
  static constexpr size_t kHeader = 4;
  static constexpr uint32_t kMostChunks = 1u << 20;

  static std::atomic<uint32_t>& Used(char* chunk) {
    return *reinterpret_cast<std::atomic<uint32_t>*>(chunk);
  }

  char* Base(uint32_t chunk) const { return directory_.load(std::memory_order_acquire)[chunk]; }
  char* Node(Place place) const { return Base(place / kChunk) + place % kChunk * 8; }

  uint32_t chunks() const { return chunks_.load(std::memory_order_relaxed); }

  // Of an entry that is written. RocksDB puts checksums behind it only with an option we do not set.
  uint32_t Size(Place place) const {
    const char* entry = Entry(place);
    uint32_t length;
    const char* value = Varint32(entry, &length) + length;
    value = Varint32(value, &length);
    return static_cast<uint32_t>((kHeader + static_cast<size_t>(value - entry) + length + 7) / 8);
  }

  uint32_t AddChunk(size_t size) {
    const uint32_t number = chunks();
    if (number == capacity_) {
      Widen();
    }
    char* chunk = allocator_->AllocateAligned(size * 8);
    new (chunk) std::atomic<uint32_t>(1);
    directory_.load(std::memory_order_relaxed)[number] = chunk;
    chunks_.store(number + 1, std::memory_order_release);
    return number;
  }

  void Widen() {
    if (capacity_ == kMostChunks) {
      // Four times what `memtable_rep.cc` lets a memtable have.
      std::fputs("ferrostate: a memtable has more than 4 GiB\n", stderr);
      std::abort();
    }
    const uint32_t wider = capacity_ == 0 ? 8 : capacity_ * 2;
    char** directory =
        reinterpret_cast<char**>(allocator_->AllocateAligned(wider * sizeof(char*)));
    if (capacity_ > 0) {
      memcpy(directory, directory_.load(std::memory_order_relaxed), capacity_ * sizeof(char*));
    }
    capacity_ = wider;
    directory_.store(directory, std::memory_order_release);
  }

  ROCKSDB_NAMESPACE::Allocator* const allocator_;
  std::atomic<char**> directory_{nullptr};
  std::atomic<uint32_t> chunks_{0};
  std::atomic<size_t> count_{0};
  // The writer's.
  uint32_t capacity_ = 0;
  // The chunk for entries that are not large, how far it is used, and how large it is.
  uint32_t chunk_ = UINT32_MAX;
  size_t end_ = 0;
  size_t limit_ = 0;
  size_t chunk_size_ = kFirstChunk / 2;
  Place pending_ = 0;
  size_t pending_size_ = 0;
};

}  // namespace ferrostate
