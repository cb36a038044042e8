// From a user's key to the places of its versions, newest first. One writer, any number of readers.
#pragma once

#include <sys/mman.h>

#include <array>

#include "memtable_log.h"

namespace ferrostate {

// Linear probing in slots of eight bytes, hash and place of the newest version; older ones hang on it.
// What was inserted last waits outside until the slot it needs has come from memory. Larger tables
// replace smaller ones, which stay where readers may still be: what they look for stands in both.
class MemHash {
 public:
  MemHash(MemLog* log, ROCKSDB_NAMESPACE::Allocator* allocator) : log_(log), allocator_(allocator) {}

  // `expected`: how many keys there may be in the end, as far as is known.
  void Insert(Place place, size_t expected) {
    const MemKey key = MemKey::OfEntry(log_->Entry(place));
    const uint64_t hash = key.Hash();
    if (keys_ + kWaiting >= most_keys_) {
      Grow(expected);
    }
    __builtin_prefetch(&SlotOf(hash), 1);
    std::atomic<uint64_t>& next = waiting_[inserted_ % kWaiting];
    Settle(next.load(std::memory_order_relaxed));
    Fetch(waiting_[(inserted_ + kWaiting / 2) % kWaiting].load(std::memory_order_relaxed));
    next.store(hash << 32 | place, std::memory_order_release);
    inserted_++;
  }

  // Calls `visit` with the entries of this key that are not newer than it, newest first, until it says
  // false. All that was inserted before the caller learned of the key's sequence number is there.
  template <class Visit>
  void Versions(const MemKey& key, Visit&& visit) const {
    const uint64_t hash = key.Hash();
    std::array<const char*, kWaiting> waiting;
    size_t count = 0;
    for (const auto& slot : waiting_) {
      const uint64_t value = slot.load(std::memory_order_acquire);
      if (value >> 32 == hash && value != 0) {
        count = Collect(key, log_->Entry(static_cast<Place>(value)), &waiting, count);
      }
    }
    Place place = Find(key, hash);
    // Some may stand in both by now.
    uint64_t before = UINT64_MAX;
    for (size_t next = 0; next < count || place != 0;) {
      const char* entry;
      const char* settled = place == 0 ? nullptr : log_->Entry(place);
      if (next < count && (place == 0 || Sequence(waiting[next]) >= Sequence(settled))) {
        entry = waiting[next++];
      } else {
        entry = settled;
        place = log_->Older(place);
      }
      const uint64_t sequence = Sequence(entry);
      if (sequence > key.sequence || sequence == before) {
        continue;
      }
      before = sequence;
      if (!visit(entry)) {
        return;
      }
    }
  }

  size_t keys() const { return keys_; }

 private:
  static constexpr size_t kWaiting = 8;
  static constexpr size_t kFirstSlots = 64;
  static constexpr size_t kGrowth = 4;
  static constexpr size_t kMostGrowth = 64;
  // Of eight slots so many are taken at most.
  static constexpr size_t kLoad = 5;
  static constexpr size_t kHugePage = 2 << 20;

  struct Table {
    uint64_t mask;
    std::atomic<uint64_t> slots[1];
  };

  static uint64_t Sequence(const char* entry) { return MemKey::OfEntry(entry).sequence; }

  std::atomic<uint64_t>& SlotOf(uint64_t hash) {
    Table* table = table_.load(std::memory_order_relaxed);
    return table->slots[hash & table->mask];
  }

  size_t Collect(const MemKey& key, const char* entry, std::array<const char*, kWaiting>* waiting,
                 size_t count) const {
    const MemKey found = MemKey::OfEntry(entry);
    if (!found.SameUserKey(key)) {
      return count;
    }
    size_t at = count;
    for (; at > 0 && Sequence((*waiting)[at - 1]) < found.sequence; at--) {
      (*waiting)[at] = (*waiting)[at - 1];
    }
    (*waiting)[at] = entry;
    return count + 1;
  }

  Place Find(const MemKey& key, uint64_t hash) const {
    const Table* table = table_.load(std::memory_order_acquire);
    if (table == nullptr) {
      return 0;
    }
    for (uint64_t at = hash;; at++) {
      const uint64_t value = table->slots[at & table->mask].load(std::memory_order_acquire);
      if (value == 0) {
        return 0;
      }
      const auto place = static_cast<Place>(value);
      if (value >> 32 == hash && MemKey::OfEntry(log_->Entry(place)).SameUserKey(key)) {
        return place;
      }
    }
  }

  // The version before, if there is one, will be compared soon.
  void Fetch(uint64_t value) {
    if (value == 0) {
      return;
    }
    const uint64_t settled = SlotOf(value >> 32).load(std::memory_order_relaxed);
    if (settled != 0 && settled >> 32 == value >> 32) {
      __builtin_prefetch(log_->Entry(static_cast<Place>(settled)));
    }
  }

  void Settle(uint64_t value) {
    if (value == 0) {
      return;
    }
    const auto place = static_cast<Place>(value);
    const MemKey key = MemKey::OfEntry(log_->Entry(place));
    Table* table = table_.load(std::memory_order_relaxed);
    for (uint64_t at = value >> 32;; at++) {
      std::atomic<uint64_t>& slot = table->slots[at & table->mask];
      const uint64_t settled = slot.load(std::memory_order_relaxed);
      const auto older = static_cast<Place>(settled);
      const bool same = settled != 0 && settled >> 32 == value >> 32 &&
                        MemKey::OfEntry(log_->Entry(older)).SameUserKey(key);
      if (settled == 0 || same) {
        log_->SetOlder(place, older);
        slot.store(value, std::memory_order_release);
        keys_ += settled == 0 ? 1 : 0;
        return;
      }
    }
  }

  // Idle states stay small; busy ones are spared tables in between.
  static size_t Wider(size_t slots, size_t expected) {
    const size_t wanted = std::bit_ceil((expected + kWaiting) * 8 / kLoad + 1);
    return slots > kFirstSlots && wanted > slots ? std::min(wanted, slots * kMostGrowth)
                                                 : slots * kGrowth;
  }

  void Grow(size_t expected) {
    const Table* before = table_.load(std::memory_order_relaxed);
    const size_t slots = before == nullptr ? kFirstSlots : Wider(before->mask + 1, expected);
    Table* table = NewTable(slots);
    for (uint64_t from = 0; before != nullptr && from <= before->mask; from++) {
      const uint64_t value = before->slots[from].load(std::memory_order_relaxed);
      if (value != 0) {
        uint64_t at = value >> 32;
        while (table->slots[at & table->mask].load(std::memory_order_relaxed) != 0) {
          at++;
        }
        table->slots[at & table->mask].store(value, std::memory_order_relaxed);
      }
    }
    most_keys_ = slots * kLoad / 8;
    table_.store(table, std::memory_order_release);
  }

  Table* NewTable(size_t slots) {
    const size_t bytes = sizeof(Table) + slots * sizeof(uint64_t);
    char* memory = allocator_->AllocateAligned(bytes);
#ifdef MADV_HUGEPAGE
    const auto start = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t first = (start + kHugePage - 1) / kHugePage * kHugePage;
    const uintptr_t end = (start + bytes) / kHugePage * kHugePage;
    if (first < end) {
      // Without them it is slower, nothing else.
      madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
    }
#endif
    memset(memory, 0, bytes);
    auto* table = reinterpret_cast<Table*>(memory);
    table->mask = slots - 1;
    return table;
  }

  MemLog* const log_;
  ROCKSDB_NAMESPACE::Allocator* const allocator_;
  std::atomic<Table*> table_{nullptr};
  // Hash and place, the oldest at `inserted_`.
  std::array<std::atomic<uint64_t>, kWaiting> waiting_{};
  // The writer's.
  size_t keys_ = 0;
  size_t most_keys_ = 0;
  size_t inserted_ = 0;
};

}  // namespace ferrostate
