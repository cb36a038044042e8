// The entries of a memtable in order, as they were at one moment. Made when somebody iterates; who decides
// that is memtable_rep.cc.
#pragma once

#include <memory>
#include <utility>

#include "memtable_log.h"

namespace ferrostate {

class Sorted {
 public:
  // All that is in the log by now; `before` spares sorting what it knows. What this takes is added to
  // `bytes` as long as it lives, and so must `log` and `bytes`.
  Sorted(const MemLog& log, const Sorted* before, std::atomic<size_t>* bytes);
  ~Sorted();
  Sorted(const Sorted&) = delete;
  Sorted& operator=(const Sorted&) = delete;

  size_t size() const { return items_.size(); }
  const char* Entry(size_t at) const { return log_.Entry(items_[at].place); }

  void Prefetch(size_t at) const {
    if (at < items_.size()) {
      const char* entry = Entry(at);
      __builtin_prefetch(entry);
      __builtin_prefetch(entry + 64);
      __builtin_prefetch(entry + 128);
    }
  }

  // The first entry that is not before the key.
  size_t Seek(const MemKey& key) const;

 private:
  struct __attribute__((packed, aligned(4))) Item {
    uint64_t front;
    Place place;
  };
  using Items = std::vector<Item>;

  MemKey Key(const Item& item) const { return MemKey::OfEntry(log_.Entry(item.place)); }
  bool Less(const Item& a, const Item& b) const {
    return a.front != b.front ? a.front < b.front : Compare(Key(a), Key(b)) < 0;
  }

  Items SortedItems(const Sorted* before);
  void SortFrom(Item* first, Item* last, size_t depth) const;
  void SortAlike(Item* first, Item* last, size_t depth) const;

  const MemLog& log_;
  std::vector<uint32_t> seen_;
  Items items_;
  std::atomic<size_t>* const total_;
  size_t bytes_;
};

}  // namespace ferrostate
